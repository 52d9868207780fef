#pragma once
// The stdout of a verb. Once the verb has changed something, its text about that goes to the stream
// that is left.

#include <ostream>
#include <streambuf>
#include <string>

namespace muster::cli {

enum class OnLostOut {
  kRepeat,   ///< Text that could not be written goes to stderr.
  kWithhold  ///< The text is a secret, and stderr may be a log: stderr says that it is lost.
};

class FallbackStream final : public std::ostream {
 public:
  /// Both streams are the caller's and outlive this.
  FallbackStream(std::ostream& answers, std::ostream& errors)
      : std::ostream(nullptr), buffer_(answers, errors) {
    rdbuf(&buffer_);
  }

  /// Until here the stream fails when stdout does; from here on never, and it is kept until it is
  /// flushed. The first word counts.
  void keep(OnLostOut on_lost) { buffer_.keep(on_lost); }
  /// Writes what is left. False if kept text reached neither stream.
  bool finish() { return buffer_.finish(); }

 private:
  class Buffer final : public std::streambuf {
   public:
    Buffer(std::ostream& answers, std::ostream& errors) : out_(answers), err_(errors) {}
    void keep(OnLostOut on_lost);
    bool finish();

   protected:
    int overflow(int letter) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;
    int sync() override;

   private:
    void tell();

    std::ostream& out_;
    std::ostream& err_;
    OnLostOut on_lost_ = OnLostOut::kRepeat;
    bool is_kept_ = false;
    std::string pending_;
    bool is_out_lost_ = false;
    bool is_untold_ = false;
  };

  Buffer buffer_;
};

}  // namespace muster::cli
