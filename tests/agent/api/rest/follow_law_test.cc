// The law of following an output, for any order of events: no byte lost and none twice for a
// follower that is never slow, through any number of connections; for a slow one, each gap is
// exactly what is missing; no stream holds more than its room; one question a topic.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/rng.h"
#include "tests/agent/api/rest/follow_testing.h"

namespace muster::agent {
namespace {

using rest_testing::bytes_of_piece;
using rest_testing::events_in;
using rest_testing::FollowedEvent;
using rest_testing::FollowWorld;

constexpr int kLawSeeds = 10;
constexpr int kLawSteps = 200;
constexpr std::size_t kReaders = 8;

/// A client that connects again and again with the id of its last event.
struct LawReader {
  std::uint64_t number = 0;  ///< Of its connection; 0 = none.
  bool is_slow = false;
  std::uint64_t at = 0;  ///< By its own count.
  std::size_t seen = 0;  ///< Bytes of its line that it has looked at.
  bool has_ended = false;
};

class LawRun {
 public:
  explicit LawRun(std::uint64_t seed) : rng_(seed) {
    world_.node.chunk_max = 65'536 + rng_.below(kOutputBytesMax - 65'536);
    for (std::size_t i = 0; i < kReaders; ++i) {
      readers_.push_back({0, i % 2 == 1, 0, 0, false});
    }
  }

  void run() {
    for (int step = 0; step < kLawSteps; ++step) {
      act();
    }
    world_.node.is_ended = true;
    for (int second = 0; second < 120; ++second) {
      for (LawReader& reader : readers_) {
        connect(reader);
        read(reader);
      }
      answer(SIZE_MAX);
      pass(std::chrono::seconds(1));
    }
    for (LawReader& reader : readers_) {
      read(reader);
      EXPECT_TRUE(reader.has_ended);
      EXPECT_EQ(reader.at, world_.node.output.size());
    }
    EXPECT_EQ(world_.book.followers(), 0U);
    EXPECT_EQ(world_.book.topics(), 0U);
  }

 private:
  void act() {
    LawReader& reader = readers_[rng_.below(readers_.size())];
    switch (rng_.below(8)) {
      case 0:
        write();
        break;
      case 1:
        connect(reader);
        break;
      case 2:
        if (reader.number != 0 && rng_.below(4) == 0) {
          read(reader);
          world_.lines.lines[reader.number].is_gone = true;
          reader.number = 0;
        }
        break;
      case 3:
        read(reader);
        break;
      case 4:
        answer(1 + rng_.below(4));
        break;
      default:
        answer(rng_.below(2) * 8);
        pass(std::chrono::milliseconds(rng_.below(1500)));
    }
    for (LawReader& each : readers_) {
      if (!each.is_slow) {
        read(each);
      }
    }
    check();
  }

  void write() {
    std::string bytes;
    const std::uint64_t size = rng_.below(rng_.below(6) == 0 ? 120'000 : 200);
    while (bytes.size() < size) {
      static const std::string kPieces[] = {"line\n",       "\xc3\xa9", "\xff",
                                            "\xe2\x82\xac", "x",        "\xc3"};
      bytes += kPieces[rng_.below(std::size(kPieces))];
    }
    world_.node.output += bytes;
  }

  void connect(LawReader& reader) {
    if (reader.number != 0 || reader.has_ended) {
      return;
    }
    HttpRequest request{HttpMethod::kGet, "/v1/jobs/7/ranks/0/output", {{"follow", "1"}}, {}, ""};
    if (reader.at != 0) {
      request.fields.emplace_back("last-event-id", std::to_string(reader.at));
    }
    reader.number = ++last_;
    reader.seen = 0;
    world_.lines.lines[reader.number].reads = false;
    world_.book.begin(world_.now, reader.number, std::get<FollowWish>(follow_wish_of(request)),
                      {"line" + std::to_string(last_ % 3), std::nullopt});
    take();
  }

  /// Looks at all that came, and so makes room.
  void read(LawReader& reader) {
    if (reader.number == 0) {
      return;
    }
    auto& line = world_.lines.lines[reader.number];
    line.waiting = 0;
    for (const FollowedEvent& event : events_in(line.text.substr(reader.seen))) {
      if (event.name == "gap") {
        EXPECT_TRUE(reader.is_slow);
        EXPECT_EQ(event.data["from"], reader.at);
        EXPECT_GT(event.data["to"], reader.at);
        reader.at = event.data["to"].get<std::uint64_t>();
      } else if (event.name == "end") {
        reader.has_ended = true;
      } else if (event.name.empty()) {
        EXPECT_EQ(event.data["offset_bytes"], reader.at);
        const std::string bytes = bytes_of_piece(event.data);
        EXPECT_EQ(bytes, world_.node.output.substr(reader.at, bytes.size()));
        reader.at += bytes.size();
        EXPECT_EQ(event.id, std::to_string(reader.at));
      }
    }
    reader.seen = line.text.size();
    reader.number = line.is_ended ? 0 : reader.number;
  }

  void take() {
    for (FollowQuestion& question : world_.book.turn(world_.now)) {
      world_.open.push_back(std::move(question));
    }
  }
  void answer(std::size_t count) {
    for (std::size_t done = 0; done < count && !world_.open.empty(); ++done) {
      const std::size_t which = rng_.below(world_.open.size());
      const FollowQuestion question = std::move(world_.open[which]);
      world_.open.erase(world_.open.begin() + static_cast<std::ptrdiff_t>(which));
      world_.book.hear(world_.now, question.number, world_.node.answer(question.request));
      take();
      if (done == 20'000) {
        ADD_FAILURE() << "it asks without end";
        return;
      }
      for (LawReader& each : readers_) {
        if (!each.is_slow || world_.node.is_ended) {
          read(each);
        }
      }
    }
  }
  void pass(Duration time) {
    const Instant until = world_.now + time;
    while (world_.now < until) {
      world_.now = std::max(world_.now + std::chrono::milliseconds(1),
                            std::min(until, world_.book.next_deadline()));
      take();
    }
  }
  void check() {
    EXPECT_LE(world_.book.topics(), 1U) << "all proofs share the output";
    for (const auto& [number, line] : world_.lines.lines) {
      EXPECT_LE(line.waiting, line.room);
    }
  }

  Rng rng_;
  FollowWorld world_;
  std::vector<LawReader> readers_;
  std::uint64_t last_ = 0;
};

TEST(FollowLaw, EveryByteComesOnceAndInOrderOrIsToldAsLost) {
  for (std::uint64_t seed = 1; seed <= kLawSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LawRun(seed).run();
  }
}

}  // namespace
}  // namespace muster::agent
