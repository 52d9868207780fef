// A rank's two streams in one file, the marks beside it, and what is read of both.

#include "agent/edge/supervisor/output_file.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/edge/grant/output_marks.h"
#include "agent/edge/ranks/rank_output.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::uint64_t kNow = 1'700'000'000'000;

class OutputFile : public testing::Test {
 protected:
  OutputFile() {
    char path[] = "/tmp/muster-output-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~OutputFile() override { std::filesystem::remove_all(directory_); }

  std::string marks_path() const { return directory_ + "/rank-0.marks"; }
  void write_log(const std::string& bytes) const {
    std::ofstream(directory_ + "/rank-0.log", std::ios::app) << bytes;
  }
  std::string text_of_marks(std::uint64_t begin = 0, std::uint64_t end = UINT64_MAX) const {
    std::string text;
    for (const OutputMark& mark : read_marks(marks_path(), begin, end, kOutputMarksMax)) {
      text += std::to_string(mark.offset) + (mark.stream.empty() ? "?" : mark.stream.substr(3)) +
              "+" + std::to_string(mark.unix_ms - kNow) + " ";
    }
    return text;
  }
  std::optional<OutputChunk> ask(OutputQuery query, std::uint64_t now = kNow) const {
    return read_output(directory_, query, true, now);
  }

  std::string directory_;
};

TEST_F(OutputFile, AMarkAChangeOfStreamOrASecond) {
  OutputMarks marks;
  marks.open(marks_path());
  marks.note(0, Stream::kOut, kNow);
  marks.note(10, Stream::kOut, kNow + 999);
  marks.note(20, Stream::kErr, kNow + 999);
  marks.note(30, Stream::kOut, kNow + 999);
  marks.note(40, Stream::kOut, kNow + 2500);
  marks.note(50, Stream::kOut, kNow - 60'000);  // The clock was set back.
  EXPECT_EQ(text_of_marks(), "0out+0 20err+999 30out+999 40out+2500 ");
  EXPECT_EQ(text_of_marks(25, 31), "20err+999 30out+999 ");
  EXPECT_EQ(text_of_marks(20, 30), "20err+999 ");
  EXPECT_EQ(text_of_marks(99, 100), "40out+2500 ");
}

TEST_F(OutputFile, MarksGoOnWhereTheyWereLeft) {
  {
    OutputMarks marks;
    marks.open(marks_path());
    marks.note(0, Stream::kOut, kNow);
  }
  OutputMarks marks;
  marks.open(marks_path());
  marks.note(5, Stream::kOut, kNow + 10);
  marks.note(7, Stream::kErr, kNow + 10);
  EXPECT_EQ(text_of_marks(), "0out+0 7err+10 ");
}

TEST_F(OutputFile, TooManyChangesAreNotToldApartAndLoseNothing) {
  write_log("abcdef");
  OutputMarks marks;
  marks.open(marks_path(), 3);
  for (std::uint64_t i = 0; i < 6; ++i) {
    marks.note(i, i % 2 == 0 ? Stream::kOut : Stream::kErr, kNow + i);
  }
  EXPECT_EQ(text_of_marks(), "0out+0 1err+1 2?+2 ");
  // Output of an hour later stands behind the last mark as well.
  OutputQuery query;
  query.since_ms = 1000;
  EXPECT_EQ(ask(query, kNow + 3'600'000)->bytes, "cdef");
}

TEST_F(OutputFile, SinceIsASecondTooEarlyRatherThanTooLate) {
  write_log("aabbcc");
  OutputMarks marks;
  marks.open(marks_path());
  marks.note(0, Stream::kOut, kNow);
  marks.note(2, Stream::kErr, kNow + 10'000);
  marks.note(4, Stream::kOut, kNow + 20'000);
  OutputQuery query;
  query.since_ms = 5'000;
  const auto since = [&](std::uint64_t now) { return ask(query, kNow + now)->bytes; };
  EXPECT_EQ(since(0), "aabbcc");
  EXPECT_EQ(since(5'999), "aabbcc");
  EXPECT_EQ(since(6'000), "bbcc");
  EXPECT_EQ(since(25'000), "cc");
  EXPECT_EQ(since(26'000), "");
  EXPECT_EQ(ask(query, kNow + 26'000)->begin, 6U);
  query.offset = 5;
  EXPECT_EQ(since(0), "c") << "never before what was asked for";
}

TEST_F(OutputFile, WithoutMarksAllIsShown) {
  write_log("abc");
  OutputQuery query;
  query.since_ms = 1;
  query.wants_marks = true;
  const auto chunk = ask(query);
  EXPECT_EQ(chunk->bytes, "abc");
  EXPECT_TRUE(chunk->marks.empty());
  query.rank = 1;
  EXPECT_FALSE(ask(query).has_value());
}

TEST_F(OutputFile, APieceEndsWhereItsMarksEnd) {
  constexpr std::uint64_t kMarks = kOutputMarksMax + 100;
  write_log(std::string(kMarks, 'x'));
  OutputMarks marks;
  marks.open(marks_path());
  for (std::uint64_t i = 0; i < kMarks; ++i) {
    marks.note(i, i % 2 == 0 ? Stream::kOut : Stream::kErr, kNow);
  }
  OutputQuery query;
  query.wants_marks = true;
  const auto first = ask(query);
  EXPECT_EQ(first->bytes.size(), kOutputMarksMax);
  EXPECT_EQ(first->marks.size(), kOutputMarksMax);
  query.offset = first->bytes.size();
  const auto rest = ask(query);
  EXPECT_EQ(rest->bytes.size(), 100U);
  EXPECT_EQ(rest->marks.size(), 100U);
  EXPECT_EQ(rest->marks.front().offset, query.offset);
}

TEST_F(OutputFile, MarksThatARankMadeUpMoveNothing) {
  write_log("abcdef");
  for (const char byte : {'\0', '\xff', '\x07'}) {
    std::ofstream(marks_path(), std::ios::trunc) << std::string((kOutputMarksMax + 9) * 16, byte);
    for (const std::uint64_t offset : {0U, 3U, 6U}) {
      OutputQuery query;
      query.wants_marks = true;
      query.offset = offset;
      EXPECT_EQ(ask(query)->bytes, std::string("abcdef").substr(offset));
      query.since_ms = 5;
      EXPECT_LE(ask(query)->begin, 6U);
    }
  }
}

TEST_F(OutputFile, OfALongLifeTheLaterHalfIsMarkedByTheMinute) {
  OutputMarks marks;
  marks.open(marks_path());
  for (std::uint64_t second = 0; second < kOutputMarksKeptMax / 2 + 120; ++second) {
    marks.note(second, Stream::kOut, kNow + second * 1000);
  }
  const auto size = std::filesystem::file_size(marks_path()) / 16;
  EXPECT_EQ(size, kOutputMarksKeptMax / 2 + 2);
  EXPECT_EQ(offset_since(marks_path(), kNow + (kOutputMarksKeptMax / 2 + 119) * 1000, UINT64_MAX),
            kOutputMarksKeptMax / 2 + 60);
}

TEST_F(OutputFile, BothPipesOfARankEndInOneFile) {
  RankOutput output;
  ASSERT_TRUE(output.open(directory_ + "/rank-0"));
  const auto say = [&](Stream stream, const std::string& text) {
    ASSERT_EQ(write(output.write_end(stream), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    output.copy();
  };
  say(Stream::kOut, "one\n");
  say(Stream::kErr, "bad\n");
  say(Stream::kOut, "two\n");
  output.close_write_ends();
  output.copy();
  EXPECT_EQ(output.read_ends(), (std::array<int, 2>{-1, -1}));
  OutputQuery query;
  query.wants_marks = true;
  const auto chunk = ask(query, static_cast<std::uint64_t>(unix_now_ms()));
  EXPECT_EQ(chunk->bytes, "one\nbad\ntwo\n");
  ASSERT_GE(chunk->marks.size(), 3U);
  EXPECT_EQ(chunk->marks[0].stream, kStdout);
  const auto bad = std::find_if(chunk->marks.begin(), chunk->marks.end(),
                                [](const OutputMark& mark) { return mark.stream == kStderr; });
  ASSERT_NE(bad, chunk->marks.end());
  EXPECT_EQ(bad->offset, 4U);
}

TEST_F(OutputFile, WhatWasDroppedIsSaidInOurOwnName) {
  RankOutput output;
  ASSERT_TRUE(output.open(directory_ + "/rank-0", 3));
  ASSERT_EQ(write(output.write_end(Stream::kErr), "abcdef", 6), 6);
  output.copy();
  OutputQuery query;
  query.wants_marks = true;
  const auto chunk = ask(query);
  EXPECT_EQ(chunk->bytes.substr(0, 4), "abc\n");
  ASSERT_EQ(chunk->marks.size(), 2U);
  EXPECT_EQ(chunk->marks[1].stream, kOurs);
  EXPECT_EQ(chunk->marks[1].offset, 3U);
}

/// A disk of its own below the output, which can be filled up.
class OutputOnAFullDisk : public OutputFile {
 protected:
  void SetUp() override {
    if (mount("none", directory_.c_str(), "tmpfs", 0, "size=512k,mode=700") != 0) {
      GTEST_SKIP() << "needs root: cannot mount a disk of its own";
    }
    is_mounted_ = true;
    std::ofstream(filler()) << std::string(256 * 1024, 'f');
    ASSERT_TRUE(output_.open(directory_ + "/rank-0"));
  }
  void TearDown() override {
    output_ = RankOutput();
    if (is_mounted_) {
      umount2(directory_.c_str(), MNT_DETACH);
    }
  }
  std::string filler() const { return directory_ + "/filler"; }
  void say(const std::string& text) {
    ASSERT_EQ(write(output_.write_end(Stream::kOut), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    output_.copy();
    written_ += text.size();
  }
  void say_until_the_disk_is_full() {
    while (output_.lost_bytes() == 0) {
      say(std::string(20'000, 'x'));
    }
  }
  std::string log() const { return read_file(directory_ + "/rank-0.log").value_or(""); }

  bool is_mounted_ = false;
  RankOutput output_;
  std::uint64_t written_ = 0;
};

const std::string kBegins = "\nmuster: output is missing from here on: No space left on device\n";

TEST_F(OutputOnAFullDisk, TheLogSaysWhereOutputIsMissingAndHowMuch) {
  say_until_the_disk_is_full();
  EXPECT_TRUE(log().ends_with(kBegins)) << "who follows it reads so at once";
  say("lost as well\n");
  output_.finish();
  const std::string lost = std::to_string(output_.lost_bytes());
  const std::string note = kBegins + "muster: " + lost + " bytes are missing here\n";
  ASSERT_TRUE(log().ends_with(note)) << log().substr(log().find('\n'));
  EXPECT_EQ(log().size() - note.size() + output_.lost_bytes(), written_);
  EXPECT_EQ(output_.size(), log().size());
  OutputQuery query;
  query.wants_marks = true;
  query.offset = log().size() - 1;
  const auto chunk = ask(query);
  ASSERT_FALSE(chunk->marks.empty());
  EXPECT_EQ(chunk->marks.back().stream, kOurs);
}

TEST_F(OutputOnAFullDisk, TheLogGoesOnWhenThereIsRoomAgain) {
  say_until_the_disk_is_full();
  std::filesystem::remove(filler());
  const Instant deadline = boot_now() + std::chrono::seconds(20);
  std::uint64_t lost = 0;
  do {
    lost = output_.lost_bytes();
    say("line\n");
  } while (output_.lost_bytes() > lost && boot_now() < deadline);
  const std::string note =
      kBegins + "muster: " + std::to_string(lost) + " bytes are missing here\nline\n";
  EXPECT_TRUE(log().ends_with(note)) << log().substr(log().find('\n'));
  output_.finish();
  EXPECT_TRUE(log().ends_with(note)) << "the gap is closed";
}

TEST_F(OutputOnAFullDisk, WhatWasTakenAheadIsGivenBack) {
  say("little\n");
  output_.finish();
  struct stat info {};
  ASSERT_EQ(stat((directory_ + "/rank-0.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 7);
  EXPECT_LE(info.st_blocks * 512, 4096);
}

}  // namespace
}  // namespace muster::agent
