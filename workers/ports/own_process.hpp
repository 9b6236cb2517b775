// This process as the operating system sees it: its environment, what it may open, and what others may see of it. Each
// function is called at the start of the program, by its first thread.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

// "" where a variable is not set or empty.
std::string environment_variable(const char* name);

// A standard descriptor (0, 1 or 2) that the caller closed would be reused for a file or a connection, and output would
// go there. Something that can be neither read nor written takes its place.
void occupy_standard_streams();

// Raises the number of files that this process may open to what it is allowed.
void raise_open_files();

// The number when the process started; programs that it runs get that.
std::int64_t open_files_at_start();

// Throws std::system_error (ENOMEM) if a limit (ulimit -v) leaves too little to start the threads of a worker or of the
// API: with less, jemalloc may break as a thread begins (workers/ports/allocator). `who` needs it, in the sentence.
void expect_address_space(const std::string& who);

// Moves the environment to where no other process can read it (not in /proc/PID/environ), and keeps other processes of
// the same user from memory and descriptors (PR_SET_DUMPABLE); no core dump is left then. getenv() goes on as before.
// REQUIRES: there is one thread.
void hide_from_other_processes();

}  // namespace cairn
