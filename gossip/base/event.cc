#include "gossip/base/event.h"

namespace muster {

std::string_view Event::field(std::string_view key) const {
  for (const auto& [name_of_field, value] : fields) {
    if (name_of_field == key) {
      return value;
    }
  }
  return {};
}

std::string Event::text() const {
  std::string line(name);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    line += value;
  }
  return line;
}

}  // namespace muster
