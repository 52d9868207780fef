// A rank that notes when it began: it appends "<CLOCK_BOOTTIME ns> <job> <rank>" to a file, then
// stays for a while. Linked statically, so that main() begins right after the execve.

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  if (argc != 3) {
    return 2;
  }
  const char* job = std::getenv("MUSTER_JOB_ID");
  const char* rank = std::getenv("RANK");
  char line[128];
  const int size = std::snprintf(line, sizeof line, "%lld %s %s\n",
                                 static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec,
                                 job == nullptr ? "-" : job, rank == nullptr ? "-" : rank);
  const int fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, line, static_cast<std::size_t>(size)) != size) {
    return 1;
  }
  usleep(static_cast<useconds_t>(std::atoi(argv[2])) * 1000);
  return 0;
}
