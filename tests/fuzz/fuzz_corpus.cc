// `fuzz_corpus`: real messages, a line of hex each, for fuzzers that speak to a real port.

#include <cstdio>

#include "tests/fuzz/corpus.h"

int main() {
  for (const std::string& message : muster::fuzz::real_messages()) {
    for (const char byte : message) {
      std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    }
    std::printf("\n");
  }
}
