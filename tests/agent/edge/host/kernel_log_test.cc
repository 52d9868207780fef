#include "agent/edge/host/kernel_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <string>

namespace muster::agent {
namespace {

std::string xid_line(std::uint64_t sequence, int code) {
  return "4," + std::to_string(sequence) +
         ",1000,-;NVRM: Xid (PCI:0000:1b:00): " + std::to_string(code) +
         ", pid=1\n SUBSYSTEM=pci\n DEVICE=+pci:0000:1b:00.0\n";
}

std::vector<std::uint32_t> codes(const KernelLog::Turn& turn) {
  std::vector<std::uint32_t> all;
  for (const KernelRecord& record : turn.found) {
    const auto* const xid = std::get_if<KernelXid>(&record.found);
    all.push_back(xid == nullptr ? 0 : xid->code);
  }
  return all;
}
using Codes = std::vector<std::uint32_t>;

/// A pipe that keeps the limits of each write, as the kernel's log does.
class RecordPipe {
 public:
  RecordPipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC | O_DIRECT), 0);
    // Each write takes a page.
    EXPECT_GE(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
    log = std::make_unique<KernelLog>(ends[0]);
    out_ = ends[1];
  }
  ~RecordPipe() { close(out_); }
  void write(const std::string& bytes) {
    EXPECT_EQ(::write(out_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  std::unique_ptr<KernelLog> log;

 private:
  int out_ = -1;
};

TEST(KernelLog, GivesTheRecordsThatTellOfAGpu) {
  RecordPipe pipe;
  EXPECT_TRUE(pipe.log->read_some().found.empty()) << "it does not wait";
  pipe.write("6,1,1,-;usb 1-1: new device\n");
  pipe.write(xid_line(2, 79));
  pipe.write("12,3,1,-;NVRM: Xid (PCI:0000:1b:00): 62, from a process\n");
  pipe.write("3,4,1,-;nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30\n");
  pipe.write("garbage\n");
  pipe.write(xid_line(5, 13));
  const KernelLog::Turn turn = pipe.log->read_some();
  EXPECT_EQ(codes(turn), (Codes{79, 0, 13}));
  EXPECT_EQ(turn.found[2].sequence, 5U);
  EXPECT_FALSE(turn.has_lost);
  EXPECT_FALSE(turn.has_more);
  EXPECT_EQ(turn.error, "");
}

TEST(KernelLog, ATurnIsBounded) {
  RecordPipe pipe;
  for (std::size_t i = 0; i < kKernelReadsATurn + 5; ++i) {
    pipe.write("6,1,1,-;x\n");
  }
  pipe.write(xid_line(2, 79));
  const KernelLog::Turn first = pipe.log->read_some();
  EXPECT_TRUE(first.has_more);
  EXPECT_TRUE(first.found.empty());
  const KernelLog::Turn second = pipe.log->read_some();
  EXPECT_FALSE(second.has_more);
  EXPECT_EQ(codes(second), Codes{79});
}

TEST(KernelLog, AStreamMayCutLinesAnywhere) {
  const std::string all = xid_line(1, 79) + xid_line(2, 62);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    RecordPipe pipe;
    if (cut > 0) {
      pipe.write(all.substr(0, cut));
    }
    Codes found = codes(pipe.log->read_some());
    if (cut < all.size()) {
      pipe.write(all.substr(cut));
    }
    const Codes more = codes(pipe.log->read_some());
    found.insert(found.end(), more.begin(), more.end());
    EXPECT_EQ(found, (Codes{79, 62})) << cut;
  }
}

TEST(KernelLog, ALineThatIsTooLongIsSkipped) {
  RecordPipe pipe;
  pipe.write("4,7,1,-;NVRM: Xid (PCI:0000:1b:00): 79, " + std::string(3000, 'a'));
  for (int i = 0; i < 4; ++i) {
    pipe.write(std::string(3000, 'a'));
    EXPECT_TRUE(pipe.log->read_some().found.empty());
  }
  pipe.write("\n" + xid_line(2, 62));
  EXPECT_EQ(codes(pipe.log->read_some()), Codes{62});
}

TEST(KernelLog, AFileIsReadFromItsBeginningOrFromNow) {
  char path[] = "/tmp/muster-kmsg-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  const std::string before = xid_line(1, 79);
  ASSERT_EQ(write(fd, before.data(), before.size()), static_cast<ssize_t>(before.size()));
  auto all = KernelLog::open(path, false);
  auto later = KernelLog::open(path, true);
  ASSERT_TRUE(all.has_value() && later.has_value());
  EXPECT_EQ(codes((*all)->read_some()), Codes{79});
  EXPECT_EQ(codes((*later)->read_some()), Codes{});
  const std::string after = xid_line(2, 62);
  ASSERT_EQ(write(fd, after.data(), after.size()), static_cast<ssize_t>(after.size()));
  EXPECT_EQ(codes((*all)->read_some()), Codes{62});
  EXPECT_EQ(codes((*later)->read_some()), Codes{62});
  close(fd);
  unlink(path);
}

/// Results of read(2) to come: a record, or -errno if there is no text.
struct Planned {
  std::string text;
  int error = 0;
};
std::deque<Planned>& plan() {
  static std::deque<Planned> planned;
  return planned;
}
ssize_t planned_read(int, void* to, std::size_t size) {
  if (plan().empty()) {
    errno = EAGAIN;
    return -1;
  }
  const Planned next = plan().front();
  plan().pop_front();
  if (next.error != 0) {
    errno = next.error;
    return -1;
  }
  EXPECT_LE(next.text.size(), size);
  std::memcpy(to, next.text.data(), next.text.size());
  return static_cast<ssize_t>(next.text.size());
}

TEST(KernelLog, ALossIsToldOnceAndReadingGoesOn) {
  KernelLog log(-1, &planned_read);
  plan() = {{xid_line(1, 79), 0}, {"", EPIPE}, {xid_line(9, 62), 0}, {"", EPIPE}};
  const KernelLog::Turn first = log.read_some();
  EXPECT_EQ(codes(first), (Codes{79, 62}));
  EXPECT_TRUE(first.has_lost);
  plan() = {{"", EPIPE}, {xid_line(20, 13), 0}};
  const KernelLog::Turn second = log.read_some();
  EXPECT_EQ(codes(second), Codes{13});
  EXPECT_FALSE(second.has_lost) << "the same flood";
  EXPECT_FALSE(log.read_some().has_lost);
  plan() = {{"", EPIPE}};
  EXPECT_TRUE(log.read_some().has_lost) << "a later loss";
}

TEST(KernelLog, EndlessLossesAndInterruptionsEndTheTurn) {
  for (const int error : {EPIPE, EINTR}) {
    KernelLog log(-1, &planned_read);
    plan().assign(1000, Planned{"", error});
    EXPECT_TRUE(log.read_some().has_more);
    EXPECT_EQ(plan().size(), 1000 - kKernelReadsATurn);
  }
  plan().clear();
}

TEST(KernelLog, AMissingFileIsAnErrorWithAWayOut) {
  const auto log = KernelLog::open("/nonexistent/kmsg", true);
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().code, ErrorCode::kIo);
  EXPECT_NE(log.error().text.find("CAP_SYSLOG"), std::string::npos);
}

TEST(KernelLog, AnErrorOfTheDescriptorIsTold) {
  KernelLog log(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_NE(log.read_some().error, "");
}

}  // namespace
}  // namespace muster::agent
