#pragma once
// Facts of the kernel about this host, as labels that jobs may ask for.

#include <string>
#include <vector>

namespace muster::agent {

/// "arch=x86_64" and "kernel=6.1", sorted.
std::vector<std::string> kernel_labels();

}  // namespace muster::agent
