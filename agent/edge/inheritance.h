#pragma once
// Mends the state that a process inherits from its parent: closed streams, signals that are ignored
// or blocked, open descriptors and the file mask; and reaps the orphans that come to it if it is
// process 1 of a container. A state that it cannot mend is an error with a sentence.

#include <sys/types.h>

#include <vector>

#include "gossip/base/result.h"

namespace muster::agent {

/// Of descriptors 0 to 2, those that are closed are held by /dev/null, so that no file that is
/// opened later takes their place and with it what is written there. Reading or writing them stays
/// an error. Before anything is opened.
Status hold_standard_streams();

/// For a process that stays, after hold_standard_streams(): of descriptors 0 to 2, what cannot be
/// read (0) or written (1 and 2) is /dev/null from here on. No descriptor above goes on to
/// children. No signal is ignored or blocked, but for those by which a terminal, or its end,
/// reaches what runs in the background: `nohup` and a shell's `&` mean them. Files are open to
/// their owner and to no other writer, whatever the mask was.
Status mend_inheritance();

/// Gives signal `number` its default effect. It may be one of the two signals that the C library
/// keeps for itself, and that a parent can leave ignored.
void restore_signal(int number);

/// Reaps the children that ended, if orphans go to this process: process 1, or a subreaper. Returns
/// them, its own children among them. To be called now and then, and not while another part of the
/// program waits for a child of its own.
std::vector<pid_t> reap_orphans();

}  // namespace muster::agent
