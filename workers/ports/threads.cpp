#include "workers/ports/threads.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <iterator>
#include <string>
#include <system_error>

namespace cairn {

Threads::Threads(int count, const std::function<void()>& work, const std::function<void()>& stop) {
  threads_.reserve(static_cast<std::size_t>(count));
  try {
    while (std::ssize(threads_) < count) threads_.emplace_back(work);
  } catch (const std::system_error& fault) {
    stop();
    join();
    throw std::system_error(fault.code(), "Expected to start " + std::to_string(count) + " threads");
  } catch (...) {
    stop();
    join();
    throw;
  }
}

void Threads::join() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

struct ThreadPool::Parts {
  explicit Parts(int count)
      : threads(
            count, [this] { io.run(); }, [this] { io.stop(); }) {}

  boost::asio::io_context io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work = boost::asio::make_work_guard(io);
  Threads threads;
};

ThreadPool::ThreadPool(int threads) : parts_(std::make_unique<Parts>(threads)) {}
ThreadPool::~ThreadPool() { parts_->io.stop(); }
boost::asio::io_context& ThreadPool::context() { return parts_->io; }

void ThreadPool::join() {
  parts_->work.reset();
  parts_->threads.join();
}

}  // namespace cairn
