#pragma once
// Inputs that the driver feeds a target: seeds, and changed seeds. An input follows only from its number and
// the seeds, on every machine.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace penstock::fuzz {

/// Draws below a bound, the same on every platform (the standard's distributions are not).
class SeededDice {
 public:
  /// A series of its own for every `name` and `number`.
  SeededDice(const std::string& name, std::size_t number);
  /// 0 .. sides - 1; 0 for no sides.
  std::size_t below(std::size_t sides) { return sides ? engine_() % sides : 0; }

 private:
  std::mt19937_64 engine_;
};

class FuzzInputs {
 public:
  /// The files of `folder` by name; throws without any.
  FuzzInputs(std::string target, const std::string& folder);

  std::size_t seeds() const { return seeds_.size(); }
  /// The seeds come first; every larger number is a seed that was changed in 1 to 8 places.
  std::string operator[](std::size_t number) const;

 private:
  void change(std::string& text, SeededDice& dice) const;
  void splice(std::string& text, SeededDice& dice) const;
  void put_word(std::string& text, SeededDice& dice) const;

  std::string target_;
  std::vector<std::string> seeds_;
  std::vector<std::string> words_;  ///< of the seeds, and extreme values
};

}  // namespace penstock::fuzz
