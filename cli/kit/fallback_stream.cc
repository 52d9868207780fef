#include "cli/kit/fallback_stream.h"

namespace muster::cli {

void FallbackStream::Buffer::keep(OnLostOut on_lost) {
  on_lost_ = is_kept_ ? on_lost_ : on_lost;
  is_kept_ = true;
}

int FallbackStream::Buffer::overflow(int letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) {
    return traits_type::not_eof(letter);
  }
  const char text = traits_type::to_char_type(letter);
  return xsputn(&text, 1) == 1 ? letter : traits_type::eof();
}

std::streamsize FallbackStream::Buffer::xsputn(const char* text, std::streamsize count) {
  if (is_kept_) {
    pending_.append(text, static_cast<std::size_t>(count));
    return count;
  }
  out_.write(text, count);
  return out_.good() ? count : 0;
}

int FallbackStream::Buffer::sync() {
  if (is_kept_) {
    tell();
    return 0;
  }
  return out_.flush().good() ? 0 : -1;
}

void FallbackStream::Buffer::tell() {
  if (pending_.empty()) {
    return;
  }
  if (!is_out_lost_) {
    out_ << pending_ << std::flush;
  }
  if (!out_.good()) {
    const bool is_first = !is_out_lost_;
    is_out_lost_ = true;
    if (on_lost_ == OnLostOut::kWithhold) {
      is_untold_ = true;
      err_ << "muster: the command succeeded, but its output could not be written to stdout and is "
              "lost\n";
    } else {
      err_ << (is_first ? "muster: cannot write to stdout; the answer follows here:\n" : "")
           << pending_ << std::flush;
      is_untold_ = is_untold_ || !err_.good();
    }
  }
  pending_.clear();
}

bool FallbackStream::Buffer::finish() {
  tell();
  return !is_untold_;
}

}  // namespace muster::cli
