#include "tests/repository/class_rules.h"

#include <algorithm>
#include <iterator>
#include <regex>
#include <string>

#include "tests/repository/class_scan.h"
#include "tests/repository/named_classes.h"
#include "tests/repository/source_text.h"

namespace muster::repository {
namespace {

constexpr const char* kRows = "tests/repository/named_classes.h";

bool is_it(const NamedClass& named, const SourceFile& file, const ClassSize& size) {
  return named.path == file.path && named.name == size.name;
}

bool is_beyond(const ClassSize& size) {
  return size.fields > kFieldsMax || size.public_functions > kPublicFunctionsMax ||
         size.private_functions > kPrivateFunctionsMax;
}

bool is_product_header(const std::string& path) {
  return path.ends_with(".h") && !path.starts_with("tests/") && !path.starts_with("bench/");
}

std::string numbers(int fields, int public_functions, int private_functions) {
  return std::to_string(fields) + " fields, " + std::to_string(public_functions) + " public and " +
         std::to_string(private_functions) + " private functions";
}

bool is_within(const ClassSize& size, const NamedClass& named) {
  return size.fields <= named.fields && size.public_functions <= named.public_functions &&
         size.private_functions <= named.private_functions;
}

/// The numbers that it may have, in words, and what to do, when it has others; else nothing.
std::string should_have(const ClassSize& size, const NamedClass* named) {
  if (named == nullptr) {
    return is_beyond(size)
               ? ", at most " + numbers(kFieldsMax, kPublicFunctionsMax, kPrivateFunctionsMax)
               : "";
  }
  const bool is_as_named = named->fields == size.fields &&
                           named->public_functions == size.public_functions &&
                           named->private_functions == size.private_functions;
  if (is_as_named) {
    return "";
  }
  return ", named with " +
         numbers(named->fields, named->public_functions, named->private_functions) +
         (is_within(size, *named) ? ": lower (or take out) its row in "
                                  : ": split it; its row in ") +
         kRows + (is_within(size, *named) ? "" : " is raised only with a reason in the commit");
}

bool is_needed(const NamedClass& named, const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    if (file.path != named.path) {
      continue;
    }
    const std::vector<ClassSize> sizes = classes_of(file);
    return std::any_of(sizes.begin(), sizes.end(), [&](const ClassSize& size) {
      return is_it(named, file, size) && is_beyond(size);
    });
  }
  return false;
}

std::string about(const NamedClass& named, const std::string& what) {
  return std::string(named.path) + ": " + std::string(named.name) + " " + what;
}

}  // namespace

std::span<const NamedClass> named_classes() {
  return kNamed;
}

Violations check_classes(const SourceFile& file, std::span<const NamedClass> named) {
  Violations found;
  for (const ClassSize& size : classes_of(file)) {
    const auto known = std::find_if(named.begin(), named.end(), [&](const NamedClass& each) {
      return is_it(each, file, size);
    });
    const std::string should = should_have(size, known == named.end() ? nullptr : &*known);
    if (!should.empty()) {
      found.push_back(at(file, size.line,
                         size.name + " has " +
                             numbers(size.fields, size.public_functions, size.private_functions) +
                             should));
    }
  }
  return found;
}

Violations check_named_classes(const std::vector<SourceFile>& files,
                               std::span<const NamedClass> named) {
  Violations found;
  for (const NamedClass& each : named) {
    if (!is_needed(each, files)) {
      found.push_back(
          about(each, std::string("need not be named any more: take out its row in ") + kRows));
    }
    if (each.reason.empty()) {
      found.push_back(about(each, "is named without a reason"));
    }
  }
  return found;
}

Violations check_machines(const std::vector<SourceFile>& files) {
  static const std::regex kClass(R"(\n(?:class|struct) (\w+)[^;{]*\{)");
  std::string asserted;
  for (const SourceFile& file : files) {
    if (file.text.find("static_assert(StateMachine<") != std::string::npos) {
      asserted += file.text;
    }
  }
  Violations found;
  for (const SourceFile& file : files) {
    const bool steps = file.text.find("\n  void step(Instant now, Input ") != std::string::npos;
    if (!is_product_header(file.path) || !steps) {
      continue;
    }
    const std::size_t step = file.text.find("\n  void step(Instant now, Input ");
    std::string name;
    for (std::sregex_iterator each(file.text.begin(), file.text.end(), kClass), end; each != end;
         ++each) {
      name = static_cast<std::size_t>(each->position()) < step ? (*each)[1].str() : name;
    }
    if (asserted.find("static_assert(StateMachine<" + name + ">)") == std::string::npos) {
      found.push_back(file.path + ": nothing asserts that " + name + " is a StateMachine");
    }
  }
  return found;
}

}  // namespace muster::repository
