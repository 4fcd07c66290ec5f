#include "penstock/calibrate/job.hpp"

#include "penstock/core/error.hpp"

namespace penstock::calibrate {
namespace {

constexpr double kSavePause = 5;  // s

class JobRunner {
 public:
  JobRunner(const std::vector<CalibrationJob>& jobs, cost::Calibration& calibration,
            std::optional<core::Seconds> budget, const JobCallbacks& watch)
      : jobs_(jobs),
        calibration_(calibration),
        budget_(budget),
        watch_(watch),
        start_(watch.now()),
        saved_(start_) {
    for (const CalibrationJob& job : jobs) left_ += job.done(calibration) ? core::Seconds(0) : job.estimate;
  }

  JobOutcome run(core::StopToken stop) {
    try {
      for (const CalibrationJob& job : jobs_) {
        stop.check();
        step(job);
      }
    } catch (const core::InterruptedError&) {
      out_.interrupted = true;
    }
    watch_.save(calibration_);
    return out_;
  }

 private:
  double scale() const { return estimated_.value() > 0 ? spent_ / estimated_ : 1; }

  bool fits(const CalibrationJob& job) const {
    if (job.essential || !budget_) return true;
    return watch_.now() - start_ + job.estimate * scale() <= *budget_;
  }

  void step(const CalibrationJob& job) {
    if (job.done(calibration_)) {
      ++out_.known;
    } else if (fits(job)) {
      attempt(job);
    } else {
      out_.unmeasured.push_back(job.name);
      left_ -= job.estimate;
    }
  }

  void attempt(const CalibrationJob& job) {
    const core::Seconds before = watch_.now();
    try {
      job.run(calibration_);
      ++out_.measured;
    } catch (const core::BadInput& e) {
      out_.refused.push_back(job.name + ": " + e.what());
    }
    spent_ += watch_.now() - before;
    estimated_ += job.estimate;
    left_ -= job.estimate;
    tell(job);
  }

  void tell(const CalibrationJob& job) {
    const std::size_t done = out_.measured + out_.known + out_.refused.size() + out_.unmeasured.size();
    watch_.progress({job.name, done, jobs_.size(), left_ * scale()});
    if ((watch_.now() - saved_).value() < kSavePause) return;
    watch_.save(calibration_);
    saved_ = watch_.now();
  }

  const std::vector<CalibrationJob>& jobs_;
  cost::Calibration& calibration_;
  std::optional<core::Seconds> budget_;
  const JobCallbacks& watch_;
  core::Seconds start_, saved_, spent_, estimated_, left_;
  JobOutcome out_;
};

}  // namespace

JobOutcome run_jobs(const std::vector<CalibrationJob>& jobs, cost::Calibration& calibration,
                    std::optional<core::Seconds> budget, const JobCallbacks& watch, core::StopToken stop) {
  return JobRunner(jobs, calibration, budget, watch).run(stop);
}

JobsToRun jobs_to_run(const std::vector<CalibrationJob>& jobs, const cost::Calibration& calibration,
                      std::optional<core::Seconds> budget) {
  JobsToRun out;
  core::Seconds spent;
  for (const CalibrationJob& job : jobs) {
    if (job.done(calibration)) continue;
    if (job.essential || !budget || spent + job.estimate <= *budget) {
      spent += job.estimate;
      out.fit.push_back(&job);
    } else {
      ++out.left_out;
    }
  }
  return out;
}

core::Seconds time_left(const std::vector<CalibrationJob>& jobs, const cost::Calibration& calibration) {
  core::Seconds sum;
  for (const CalibrationJob& job : jobs)
    if (!job.done(calibration)) sum += job.estimate;
  return sum;
}

}  // namespace penstock::calibrate
