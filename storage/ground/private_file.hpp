// A file for its owner alone: archives, pictures of pages, whatever holds what runs held. Safe from any thread; one
// PrivatePart is for one thread.
#pragma once

#include <string>

namespace cairn {

// Makes the file, or empties it, and gives it the mode 0600 whatever the umask is. False if it may not be written.
bool make_private_file(const std::string& path);

// A private file, empty, that becomes another one when it is whole, and goes if it does not. Only the first of several
// processes has it, until it ends; what a process left that was killed is taken over.
class PrivatePart {
 public:
  explicit PrivatePart(std::string path);
  ~PrivatePart();
  PrivatePart(const PrivatePart&) = delete;
  PrivatePart& operator=(const PrivatePart&) = delete;

  enum class State { there, taken, unwritable };  // taken: by another one
  State state() const { return state_; }
  const std::string& path() const { return path_; }

  // Takes the place of the file `whole`. False if it cannot. REQUIRES: it is there.
  bool become(const std::string& whole);

 private:
  State open_alone();

  const std::string path_;
  int file_ = -1;
  State state_ = State::unwritable;
};

}  // namespace cairn
