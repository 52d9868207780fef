#pragma once
// HttpStream is the body of an answer that goes on: Server-Sent Events to one follower. The owner
// pushes, the door sends. A follower that reads too slowly is told so by push(), and never makes
// the node hold more than kBufferMax for it. Owned together by the owner and the door; all calls
// are thread safe and none blocks.

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

struct MHD_Connection;

namespace muster::agent {

class HttpStream {
 public:
  static constexpr std::size_t kBufferMax = 256 * 1024;

  HttpStream() = default;
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  /// True if the bytes will be sent after those before. False, and none of them is taken: the
  /// follower is gone, the stream was ended, or kBufferMax would be passed.
  bool push(std::string_view bytes);
  /// The answer ends behind what was pushed. The connection stays for another request.
  void end();
  /// The follower has left, was cut, or was never there: no push will be taken.
  bool is_gone() const;
  /// Bytes that wait to be sent.
  std::size_t waiting() const;

  // ---- the door's side ----

  /// At most `size` bytes for `link`, which is parked (suspended) while no byte waits: 0. -1
  /// behind the last byte, -2 if the stream is gone. Called by the thread of the library.
  std::ptrdiff_t read(MHD_Connection* link, char* to, std::size_t size);
  /// No follower from here on; a parked link is resumed and learns it from read().
  void leave();
  /// All that was pushed went to the kernel.
  bool is_parked() const;

 private:
  void resume_parked();

  mutable std::mutex mutex_;
  std::string buffer_;
  std::size_t sent_ = 0;  ///< Of the buffer's beginning.
  bool is_ended_ = false;
  bool is_gone_ = false;
  /// Suspended here. The library keeps a suspended connection until it is resumed, so the pointer
  /// is good.
  MHD_Connection* parked_ = nullptr;
};

}  // namespace muster::agent
