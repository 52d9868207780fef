#pragma once
// `muster probe`: the process that asks the driver about the GPUs, because such a question can hang
// for ever. It is started by GpuProber with a socket as its standard input and output, speaks
// ProbeFrames on it, and ends when that closes or its parent ends. Under root it becomes "nobody"
// before it loads the library.

namespace muster::agent {

/// The main of `muster probe`, whose argv[2] is one of
///   query   writes a reading at once, and one more for each byte that comes in
///   events  writes EventsReady, then an XidEvent for each Xid
///   print   prints one reading, and the offer that follows from it, for people
/// with --library PATH (default: the one that the loader finds) and --pci ID,ID (default: all
/// GPUs). Returns the exit status: 0 = the other end closed, 1 = the library cannot be used, 2 =
/// bad arguments.
int probe_main(int argc, char** argv);

}  // namespace muster::agent
