# Edge: the only target that links libsodium.
muster_library(muster_host_key host_key.cc LINK muster_crdt sodium)
