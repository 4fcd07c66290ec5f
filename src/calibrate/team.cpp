#include "penstock/calibrate/team.hpp"

#include <atomic>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock::calibrate {

struct ThreadTeam::Threads {
  explicit Threads(int ranks) : count(ranks), round(ranks), barrier(ranks) {
    for (int rank = 1; rank < ranks; ++rank) others.emplace_back([this, rank] { serve(rank); });
  }

  void serve(int rank) {
    for (round.arrive_and_wait(); work != nullptr; round.arrive_and_wait()) {
      attempt(rank);
      round.arrive_and_wait();
    }
  }

  void attempt(int rank) {
    try {
      (*work)(rank);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  int count;
  std::barrier<> round, barrier;
  const std::function<void(int)>* work = nullptr;  ///< null: threads end
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> others;
};

ThreadTeam::ThreadTeam(int ranks) : threads_(std::make_unique<Threads>(ranks)) {}

ThreadTeam::~ThreadTeam() {
  threads_->work = nullptr;
  threads_->round.arrive_and_wait();
  for (std::thread& other : threads_->others) other.join();
}

void ThreadTeam::run(const std::function<void(int)>& work) {
  threads_->work = &work;
  threads_->failure = nullptr;
  threads_->round.arrive_and_wait();
  threads_->attempt(0);
  threads_->round.arrive_and_wait();
  if (threads_->failure) std::rethrow_exception(threads_->failure);
}

void ThreadTeam::meet() {
  threads_->barrier.arrive_and_wait();
}

int ThreadTeam::ranks() const {
  return threads_->count;
}

struct BackgroundLoop::Thread {
  std::function<void()> body;
  std::atomic<bool> over{false};
  std::thread thread;
};

BackgroundLoop::BackgroundLoop(std::function<void()> body) : thread_(std::make_unique<Thread>()) {
  thread_->body = std::move(body);
  thread_->thread = std::thread([t = thread_.get()] {
    while (!t->over) t->body();
  });
}

BackgroundLoop::~BackgroundLoop() {
  thread_->over = true;
  thread_->thread.join();
}

}  // namespace penstock::calibrate
