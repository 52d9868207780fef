// Names are found beside the caller, kept for a while, and a name service that hangs holds up
// nobody. Method: a name service of the test's own, and a clock that the test moves.

#include "agent/edge/host/login_names.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <future>
#include <memory>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr int kPatienceMs = 20'000;
constexpr Instant kStart{1h};

/// A name service that answers "uN", or nothing for odd uids; those from `kHangs` on wait for
/// open().
class Service {
 public:
  static constexpr std::uint32_t kHangs = 10'000;

  LoginNames::Lookup lookup() {
    // A thread may outlive the test.
    return [asked = asked_, gate = gate_](std::uint32_t uid) {
      ++*asked;
      asked->notify_all();
      if (uid >= kHangs) {
        gate.wait();
      }
      return uid % 2 == 1 ? "" : "u" + std::to_string(uid);
    };
  }
  void open() { promise_.set_value(); }
  int asked() const { return *asked_; }
  /// Blocks until so many questions have come.
  void wait_for(int count) const {
    for (int seen = *asked_; seen < count; seen = *asked_) {
      asked_->wait(seen);
    }
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> gate_ = promise_.get_future().share();
  std::shared_ptr<std::atomic<int>> asked_ = std::make_shared<std::atomic<int>>(0);
};

class LoginNamesTest : public testing::Test {
 protected:
  /// Waits until there is an answer, and takes it.
  std::optional<std::string> name_of(std::uint32_t uid, Instant now) {
    EXPECT_TRUE(names_.ask(uid, now));
    while (!names_.find(uid, now).has_value()) {
      pollfd entry{names_.fd(), POLLIN, 0};
      if (poll(&entry, 1, kPatienceMs) <= 0) {
        ADD_FAILURE() << "no answer for " << uid;
        break;
      }
      names_.turn(now);
    }
    return names_.find(uid, now);
  }
  /// All threads come to hang. Waits until they do.
  void hang_all(Instant now) {
    const int before = service_.asked();
    for (std::uint32_t i = 0; i < LoginNames::kThreadsMax; ++i) {
      EXPECT_TRUE(names_.ask(Service::kHangs + 2 * i, now));
    }
    service_.wait_for(before + static_cast<int>(LoginNames::kThreadsMax));
  }

  Service service_;
  LoginNames names_{service_.lookup()};
};

TEST_F(LoginNamesTest, ANameIsAskedForOnceInAMinuteAndNoNameInTenSeconds) {
  EXPECT_EQ(names_.find(1000, kStart), std::nullopt);
  EXPECT_EQ(names_.next_deadline(), kNever);
  EXPECT_EQ(name_of(1000, kStart), "u1000");
  EXPECT_EQ(name_of(1001, kStart), "");
  EXPECT_EQ(service_.asked(), 2);
  EXPECT_EQ(names_.find(1000, kStart + LoginNames::kKept - 1ms), "u1000");
  EXPECT_EQ(names_.find(1001, kStart + LoginNames::kNamelessKept - 1ms), "");
  EXPECT_EQ(names_.find(1001, kStart + LoginNames::kNamelessKept), std::nullopt);
  EXPECT_EQ(names_.find(1000, kStart + LoginNames::kKept), std::nullopt);
  EXPECT_EQ(name_of(1000, kStart + LoginNames::kKept), "u1000");
  EXPECT_EQ(service_.asked(), 3);
}

TEST_F(LoginNamesTest, AQuestionWithoutAnAnswerIsGivenUp) {
  hang_all(kStart);
  EXPECT_TRUE(names_.ask(1000, kStart + 1s));
  EXPECT_EQ(names_.next_deadline(), kStart + LoginNames::kPatience);
  names_.turn(kStart + LoginNames::kPatience);
  EXPECT_EQ(names_.find(Service::kHangs, kStart + LoginNames::kPatience), "");
  EXPECT_EQ(names_.next_deadline(), kStart + 1s + LoginNames::kPatience);
  const Instant late = kStart + 1s + LoginNames::kPatience;
  names_.turn(late);
  EXPECT_EQ(names_.find(1000, late), "") << "no thread was free";
  EXPECT_EQ(names_.next_deadline(), kNever);
  service_.open();
  EXPECT_EQ(name_of(1000, late + LoginNames::kNamelessKept), "u1000");
  EXPECT_EQ(service_.asked(), static_cast<int>(LoginNames::kThreadsMax) + 1)
      << "what was given up before it began was never asked";
}

TEST_F(LoginNamesTest, ALateAnswerCounts) {
  ASSERT_TRUE(names_.ask(Service::kHangs, kStart));
  const Instant late = kStart + LoginNames::kPatience;
  names_.turn(late);
  EXPECT_EQ(names_.find(Service::kHangs, late), "");
  const Instant again = late + LoginNames::kNamelessKept;
  ASSERT_TRUE(names_.ask(Service::kHangs, again)) << "the thread is still at it";
  service_.open();
  EXPECT_EQ(name_of(Service::kHangs, again), "u10000");
  EXPECT_EQ(service_.asked(), 1);
}

TEST_F(LoginNamesTest, OneUidThatHangsHoldsUpNoOther) {
  ASSERT_TRUE(names_.ask(Service::kHangs, kStart));
  for (std::uint32_t uid = 2; uid < 50; uid += 2) {
    EXPECT_EQ(name_of(uid, kStart), "u" + std::to_string(uid));
  }
  service_.open();
}

TEST_F(LoginNamesTest, QuestionsAndNamesHaveALimit) {
  hang_all(kStart);
  std::size_t open = LoginNames::kThreadsMax;
  for (std::uint32_t uid = 2; names_.ask(uid, kStart) && uid < 10'000; uid += 2) {
    ++open;
  }
  EXPECT_EQ(open, LoginNames::kOpenMax);
  EXPECT_TRUE(names_.ask(2, kStart)) << "it is asked for already";
  service_.open();
}

TEST(LoginNames, AnObjectEndsThoughAThreadHangs) {
  auto service = std::make_shared<Service>();
  {
    LoginNames names(
        [service, lookup = service->lookup()](std::uint32_t uid) { return lookup(uid); });
    ASSERT_TRUE(names.ask(Service::kHangs, kStart));
    service->wait_for(1);
  }
  service->open();
}

TEST(LoginNames, TheMachineKnowsRoot) {
  EXPECT_EQ(name_of_uid(0), "root");
  EXPECT_EQ(name_of_uid(4'000'000'000), "");
}

}  // namespace
}  // namespace muster::agent
