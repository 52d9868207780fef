// The rule of classes finds what it claims to, and leaves lawful classes alone. Whether the tree
// keeps it is asked in repository_test.cc.

#include <gtest/gtest.h>

#include "tests/repository/class_rules.h"
#include "tests/repository/class_scan.h"

namespace muster::repository {
namespace {

std::string repeated(int count, const std::string& one, const std::string& other) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += i % 2 == 0 ? one : other;
  }
  return text;
}

std::string functions_of(int count) {
  return repeated(count, "  void f(int x = 1, C c = {}) const;\n",
                  "  int f(int y) {\n    return y;\n  }\n");
}

std::string fields_of(int count) {
  return repeated(count, "  std::function<int(int)> x_;\n", "  [[maybe_unused]] int y_{0};\n");
}

std::string class_of(int fields, int public_functions, int private_functions) {
  return "class A {\n public:\n" + functions_of(public_functions) + " private:\n" +
         functions_of(private_functions) + fields_of(fields) + "};\n";
}

std::size_t violations(const std::string& text, const std::string& path = "agent/gang/a.h") {
  return check_classes({path, text}, {}).size();
}

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> names;
  for (const ClassSize& size : classes_of({"a.cc", text})) {
    names.push_back(size.name);
  }
  return names;
}

ClassSize first_of(const std::string& text) {
  const std::vector<ClassSize> sizes = classes_of({"a.cc", text});
  return sizes.empty() ? ClassSize{} : sizes.front();
}

TEST(ClassRules, AClassThatHoldsTooMuchIsFound) {
  EXPECT_EQ(violations(class_of(15, 25, 25)), 0U);
  EXPECT_EQ(violations(class_of(16, 0, 0)), 1U);
  EXPECT_EQ(violations(class_of(0, 26, 0)), 1U);
  EXPECT_EQ(violations(class_of(0, 0, 26)), 1U);
  EXPECT_EQ(violations("struct A {\n" + fields_of(16) + "};\n"), 1U);
}

TEST(ClassRules, ClassesOfSourcesTestsAndBenchesAreSeen) {
  for (const std::string path : {"agent/gang/a.cc", "tests/a.h", "tests/a_test.cc", "bench/a.cc"}) {
    EXPECT_EQ(violations("namespace {\n" + class_of(15, 25, 25) + "}\n", path), 0U) << path;
    EXPECT_EQ(violations("namespace {\n" + class_of(16, 0, 0) + "}\n", path), 1U) << path;
  }
}

TEST(ClassRules, AClassInAnotherIsOneOfItsOwn) {
  const std::string lawful = "class A {\n public:\n  struct B {\n" + fields_of(15) +
                             "  };\n private:\n  struct C {\n" + fields_of(15) + "  };\n" +
                             fields_of(15) + "};\n";
  EXPECT_EQ(violations(lawful), 0U);
  EXPECT_EQ(names(lawful), (std::vector<std::string>{"A", "A::B", "A::C"}));
  const std::string large = "  struct B {\n" + fields_of(16) + "  };\n";
  EXPECT_EQ(violations("class A {\n public:\n" + large + "};\n"), 1U);
  EXPECT_EQ(violations("class A {\n private:\n" + large + "};\n"), 1U);
  EXPECT_EQ(violations("class A {\n  struct B {\n  " + large + "  };\n};\n"), 1U);
  EXPECT_EQ(violations("struct A::Impl {\n" + fields_of(16) + "};\n"), 1U);
}

TEST(ClassRules, AClassIsFoundHoweverItIsWritten) {
  EXPECT_EQ(names("class A;\nstruct B final : public C<D> { int x; };\n"
                  "template <class T>\nclass [[nodiscard]] E {};\nstruct F::G {};\n"
                  "class H : public testing::Test {};\n"),
            (std::vector<std::string>{"B", "E", "F::G", "H"}));
  EXPECT_EQ(names("int f(X x = {}) {\n  return 1;\n}\nint kTable[] = {1, 2};\nclass A {};\n"),
            (std::vector<std::string>{"A"}));
  EXPECT_EQ(names("enum class A { kOne };\nstruct B f(int x) {\n  struct Local { int y; };\n}\n"
                  "#define C \\\n  struct D {\nconst char* e = \"struct F {\";\n"),
            std::vector<std::string>{})
      << "enumerations, functions and what is local to them, directives, literals";
}

TEST(ClassRules, FieldsAreCountedByDeclaration) {
  const ClassSize size = first_of(
      "struct A {\n  int a, b;\n  std::map<int, std::function<void(int)>> c{};\n  D d = D(1);\n"
      "  using E = int;\n  friend class F;\n  enum class G { kOne, kTwo };\n"
      "  static constexpr int kMax = 3;\n  struct H;\n  static_assert(kMax > 2);\n};\n");
  EXPECT_EQ(size.fields, 3);
  EXPECT_EQ(size.public_functions, 0);
}

TEST(ClassRules, ConstructorsAndOperatorsAreNoFunctionsOfAClass) {
  const ClassSize size = first_of(
      "class A {\n public:\n  explicit A(int x) : b_{x}, c_(x) { g(); }\n  A(const A&) = delete;\n"
      "  ~A();\n  A& operator=(const A&) = delete;\n  bool operator==(const A&) const = default;\n"
      "  bool operator<(const A& other) const { return b_ < other.b_; }\n"
      "  explicit operator bool() const;\n  void g();\n  template <class T>\n  T h(T t) const;\n"
      " protected:\n  virtual void i() = 0;\n private:\n  A();\n  int b_;\n  int c_;\n};\n");
  EXPECT_EQ(size.public_functions, 2) << "g and h";
  EXPECT_EQ(size.private_functions, 1) << "i";
  EXPECT_EQ(size.fields, 2);
}

TEST(ClassRules, ANameThatHoldsTheWordOperatorIsNoOperator) {
  const ClassSize size = first_of(
      "class A {\n public:\n  void operator_left();\n  my_operator<B> f(C c) const;\n private:\n"
      "  Operators operators_{world_};\n  Cooperator cooperator;\n  int operator_;\n};\n");
  EXPECT_EQ(size.fields, 3);
  EXPECT_EQ(size.public_functions, 2);
}

TEST(ClassRules, ConstraintsAreNoFunctionsAndHideNone) {
  const ClassSize size = first_of(
      "class A {\n public:\n"
      "  template <class T>\n  requires requires(W& w, T& t) { f(w, t); }\n"
      "  void a(T& t) { f(*this, t); }\n"
      "  template <class T>\n  requires B<T> && (C<T> || requires { typename T::D; })\n"
      "  int b(T t);\n"
      "  int c(T t) requires std::is_same_v<T, int>;\n"
      "  int d(T t) requires(B<T>) { return 1; }\n"
      "  int e(T t) requires requires(T u) { { g(u) } -> H<int>; } { return 2; }\n"
      "  template <class T>\n  requires B<T>\n  explicit A(T t) : x_{t} {}\n"
      " private:\n  bool is_b_ = requires(T t) { h(t); };\n  int requires_ = 1;\n};\n");
  EXPECT_EQ(size.public_functions, 5) << "a to e";
  EXPECT_EQ(size.private_functions, 0);
  EXPECT_EQ(size.fields, 2);
  EXPECT_EQ(names("template <class T>\nrequires requires(T t) { f(t); }\nstruct A {};\n"
                  "template <class T>\nconcept B = requires(T t) { f(t); };\nclass C {};\n"),
            (std::vector<std::string>{"A", "C"}));
}

TEST(ClassRules, AClassIsAsLargeAsItIsNamed) {
  const NamedClass named[] = {{"scheduler/a.h", "A", 20, 30, 3, "all of it"}};
  const auto found = [&](const std::string& text) {
    return check_classes({"scheduler/a.h", text}, named).size();
  };
  EXPECT_EQ(found(class_of(20, 30, 3)), 0U);
  EXPECT_EQ(found(class_of(21, 30, 3)), 1U);
  EXPECT_EQ(found(class_of(20, 31, 3)), 1U);
  EXPECT_EQ(found(class_of(20, 30, 4)), 1U);
  EXPECT_EQ(found(class_of(19, 30, 3)), 1U) << "the row has to be lowered";
  EXPECT_EQ(found(class_of(20, 29, 3)), 1U);
  EXPECT_EQ(check_classes({"tests/a.h", class_of(20, 30, 3)}, named).size(), 1U) << "another";
}

TEST(ClassRules, AViolationSaysWhichRowToEdit) {
  const NamedClass named[] = {{"scheduler/a.h", "A", 20, 30, 3, "all of it"}};
  const auto found = [&](const std::string& text) {
    return check_classes({"scheduler/a.h", text}, named).at(0);
  };
  const std::string is_named = ", named with 20 fields, 30 public and 3 private functions: ";
  const std::string lower = "lower (or take out) its row in tests/repository/named_classes.h";
  EXPECT_EQ(
      found(class_of(19, 30, 3)),
      "scheduler/a.h:1: A has 19 fields, 30 public and 3 private functions" + is_named + lower);
  EXPECT_TRUE(found(class_of(20, 1, 3)).ends_with(lower));
  const std::string split =
      "split it; its row in tests/repository/named_classes.h is raised only with a reason in the "
      "commit";
  EXPECT_TRUE(found(class_of(21, 30, 3)).ends_with(is_named + split));
  EXPECT_TRUE(found(class_of(19, 31, 3)).ends_with(split)) << "smaller here, larger there";
  EXPECT_EQ(check_named_classes({}, named).at(0),
            "scheduler/a.h: A need not be named any more: take out its row in "
            "tests/repository/named_classes.h");
}

TEST(ClassRules, ANameThatIsNotNeededIsFound) {
  const auto found = [&](const std::string& text, std::string_view name, std::string_view reason) {
    const NamedClass named[] = {{"a.cc", name, 16, 0, 0, reason}};
    return check_named_classes({{"b.cc", ""}, {"a.cc", text}}, named).size();
  };
  EXPECT_EQ(found(class_of(16, 0, 0), "A", "all of it"), 0U);
  EXPECT_EQ(found(class_of(16, 0, 0), "A", ""), 1U) << "no reason";
  EXPECT_EQ(found(class_of(16, 0, 0), "B", "all of it"), 1U) << "no such class";
  EXPECT_EQ(found(class_of(15, 0, 0), "A", "all of it"), 1U) << "it keeps the limits";
  const std::string inner = "class B {\n" + class_of(16, 0, 0) + "};\n";
  EXPECT_EQ(found(inner, "B::A", "all of it"), 0U);
  EXPECT_EQ(found(inner, "A", "all of it"), 1U);
}

TEST(ClassRules, AMachineIsAssertedToBeOne) {
  const SourceFile machine = {"crdt/store/a.h",
                              "\nclass A {\n  void step(Instant now, Input input);\n};\n"};
  const SourceFile proof = {"crdt/store/a.cc", "static_assert(StateMachine<A>);\n"};
  EXPECT_EQ(check_machines({machine}).size(), 1U);
  EXPECT_EQ(check_machines({machine, proof}).size(), 0U);
}

}  // namespace
}  // namespace muster::repository
