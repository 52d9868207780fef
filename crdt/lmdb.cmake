# Edge: the only target that links LMDB.
muster_library(muster_crdt_lmdb data_lock.cc lmdb_store.cc storage_thread.cc
               LINK muster_crdt lmdb Threads::Threads)
