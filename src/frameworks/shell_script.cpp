#include "shell_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "penstock/core/error.hpp"
#include "shell_commands.hpp"
#include "shell_tests.hpp"

namespace penstock::frameworks::shell {
namespace {

constexpr std::size_t kMostChoices = 200;
constexpr std::size_t kMostSteps = 100'000;
constexpr int kMostCalls = 15;

struct State {
  Variables variables{};
  bool alive = true;
};

/// A way in which undecided branches may have set the variables of some words.
template <class T>
struct World {
  T value;
  Choice by{};  ///< line, against and variable; none in the first
};

/// `expand` under the first choice of every variable, then with one variable after another otherwise.
template <class Expand>
auto worlds(const Variables& variables, const std::string& file, int line, const Expand& expand) {
  using T = decltype(expand(std::declval<Expander&>()));
  struct Open {
    Picks picks;
    Choice by;
  };
  std::vector<World<T>> out;
  std::vector<Open> open(1);
  std::set<std::string, std::less<>> met;
  for (std::size_t at = 0; at < open.size(); ++at) {
    const Open now = open[at];
    Expander expander(variables, now.picks, file);
    out.push_back({expand(expander), now.by});
    for (const std::string& name : expander.choices) {
      if (!met.insert(name).second) continue;
      const auto& choices = variables.find(name)->second;
      for (std::size_t i = 1; i < choices.size(); ++i) {
        if (open.size() == kMostChoices)
          throw core::BadInput({file, line, ""}, "more than 200 branches meet");
        open.push_back({now.picks, choices[i]});
        open.back().picks[name] = i;
      }
      // Values of the first world follow from the first choice.
      if (at == 0 && out.front().by.by.empty()) out.front().by = choices.front();
    }
  }
  return out;
}

void add_choice(std::vector<Choice>& all, Choice choice) {
  if (std::ranges::any_of(all, [&](const Choice& each) { return each.same(choice); })) return;
  if (!all.empty() && choice.against == 0) choice.against = all.front().line;
  if (all.empty()) choice.against = 0;
  all.push_back(std::move(choice));
}

/// Either state, by a branch that nothing decides; `line` where it begins.
State merged(State a, State b, int line) {
  if (!a.alive) return b;
  if (!b.alive) return a;
  const auto unset = [&](const std::string& name) {
    return std::vector<Choice>{{.set = false, .line = line, .by = name}};
  };
  for (const auto& [name, choices] : b.variables) {
    const auto there = a.variables.find(name);
    auto& all = there != a.variables.end() ? there->second : a.variables[name] = unset(name);
    for (const Choice& choice : choices) add_choice(all, choice);
  }
  for (auto& [name, choices] : a.variables)
    if (!b.variables.contains(name)) add_choice(choices, unset(name).front());
  return a;
}

bool has_dashes(const std::vector<Field>& fields) {
  return std::ranges::any_of(fields, [](const Field& f) { return f.text.find("--") != f.text.npos; });
}

class Runner {
 public:
  explicit Runner(std::string file) : file_(std::move(file)) {}

  ScriptRun run(const Body& body, const std::vector<Field>& arguments) {
    State state;
    if (!arguments.empty()) set_arguments(arguments, 0, state);
    run_body(body, state);
    if (out_.launches.empty()) add_lists(state);
    return std::move(out_);
  }

 private:
  Truth run_body(const Body& body, State& state) {
    Truth status = Truth::yes;
    for (const Step& step : body) {
      if (!state.alive || returning_) break;
      const bool linked = step.after == Step::After::success || step.after == Step::After::failure;
      const Truth runs = !linked ? Truth::yes : step.after == Step::After::success ? status : !status;
      if (runs == Truth::no) continue;
      State other = runs == Truth::maybe ? state : State{};
      Truth result = run_command(*step.command, state);
      if (step.negated) result = !result;
      if (step.after == Step::After::pipe) result = Truth::maybe;
      if (runs == Truth::maybe) {
        state = merged(std::move(other), std::move(state), step.command->line);
        result = Truth::maybe;
        returning_ = false;
      }
      status = result;
    }
    return status;
  }

  Truth run_command(const Command& command, State& state) {
    if (++steps_ > kMostSteps) throw core::BadInput({file_, command.line, ""}, "runs too many commands");
    switch (command.kind) {
      case Command::Kind::simple:
        return run_simple(command, state);
      case Command::Kind::branches:
        return run_branches(command, 0, state);
      case Command::Kind::cases:
        return run_cases(command, 0, state);
      case Command::Kind::loop:
        return run_loop(command, state);
      case Command::Kind::group:
        return run_body(command.branches.front().body, state);
      case Command::Kind::function:
        functions_[command.words.front().text] = command;
        return Truth::yes;
    }
    return Truth::maybe;
  }

  /// Runs `a` and `b` from one state where `first` is open, else one of them.
  template <class A, class B>
  Truth choose(Truth first, State& state, int line, const A& a, const B& b) {
    if (first != Truth::maybe) return first == Truth::yes ? a(state) : b(state);
    State other = state;
    const bool before = returning_;
    a(state);
    returning_ = before;
    b(other);
    returning_ = before;
    state = merged(std::move(state), std::move(other), line);
    return Truth::maybe;
  }

  Truth run_branches(const Command& command, std::size_t at, State& state) {
    if (at == command.branches.size()) return Truth::yes;
    const Branch& branch = command.branches[at];
    if (branch.condition.empty()) return run_body(branch.body, state);
    const Truth holds = run_body(branch.condition, state);
    return choose(
        holds, state, branch.line, [&](State& s) { return run_body(branch.body, s); },
        [&](State& s) { return run_branches(command, at + 1, s); });
  }

  Truth run_cases(const Command& command, std::size_t at, State& state) {
    if (at == command.branches.size()) return Truth::yes;
    const Branch& branch = command.branches[at];
    return choose(
        fits(command.words.front(), branch.patterns, state.variables, file_), state, branch.line,
        [&](State& s) { return run_body(branch.body, s); },
        [&](State& s) { return run_cases(command, at + 1, s); });
  }

  /// A body is run once: what it sets in later turns is one of the words that it is run for.
  Truth run_loop(const Command& command, State& state) {
    const Branch& loop = command.branches.front();
    const auto none = [](State&) { return Truth::yes; };
    const auto turn = [&](State& s) { return run_body(loop.body, s); };
    if (!command.over_words)
      return choose(both(run_body(loop.condition, state), Truth::maybe), state, loop.line, turn, none);
    const Token name = command.words.front();
    std::vector<Choice> words;
    Expander expander(state.variables, {}, file_);
    for (std::size_t i = 1; i < command.words.size(); ++i) expander.add(command.words[i]);
    const auto fields = expander.fields();
    for (const Field& field : fields)
      add_choice(words, {.words = {field}, .line = command.line, .by = name.text});
    if (fields.empty()) return Truth::yes;
    const bool once = fields.size() == 1 && !expander.opaque && !expander.unset_used;
    state.variables[name.text] = words;
    return once ? turn(state) : choose(Truth::maybe, state, loop.line, turn, none);
  }

  void assign(const std::string& name, Token word, bool append, State& state) {
    const auto before = state.variables.find(name);
    const bool was_array = before != state.variables.end() && before->second.front().array;
    const bool array = word.kind == Token::Kind::array;
    if (append && !array && was_array) {  // ARGS+=x adds to the first word: this is never meant
      throw core::BadInput({file_, word.line, name}, "is an array: add words to it by +=(...)");
    }
    if (append && before != state.variables.end()) {
      if (array)
        word.items.insert(
            word.items.begin(),
            {Token::Kind::word, was_array ? "\"${" + name + "[@]}\"" : "\"${" + name + "}\"", word.line});
      else
        word.text = "\"${" + name + ":-}\"" + word.text;
    }
    const auto found = worlds(state.variables, file_, word.line, [&](Expander& expander) {
      if (!array) {
        return Choice{.words = {expander.field(word)}};
      }
      for (const Token& item : word.items) expander.add(item);
      return Choice{.words = expander.fields(), .array = true};
    });
    std::vector<Choice> choices;
    for (const auto& world : found) {
      Choice choice = world.value;
      choice.line = world.by.by.empty() ? word.line : world.by.line;
      choice.against = world.by.against;
      choice.by = world.by.by.empty() ? name : world.by.by;
      if (!array && world.by.by.empty() && choice.words.front().text.empty())
        choice.words.front().line = word.line;
      if (!array && !world.by.by.empty() && choice.words.front().marks.empty())
        choice.words.front().line = world.by.line;
      add_choice(choices, std::move(choice));
    }
    state.variables[name] = std::move(choices);
  }

  /// True if the word is NAME=..., NAME+=... or an array.
  bool assignment(const Token& word, State& state) {
    const std::size_t equals = word.text.find('=');
    if (equals == word.text.npos || equals == 0) return false;
    const bool append = word.text[equals - 1] == '+';
    const std::string name = word.text.substr(0, equals - (append ? 1 : 0));
    if (!is_name(name)) return false;
    Token value = word;
    value.text = word.text.substr(equals + 1);
    assign(name, std::move(value), append, state);
    return true;
  }

  Truth run_simple(const Command& command, State& state) {
    const auto& words = command.words;
    std::size_t at = 0;
    const bool all = std::ranges::all_of(words, [](const Token& word) {
      const std::size_t equals = word.text.find('=');
      const std::size_t end =
          equals != word.text.npos && equals > 0 && word.text[equals - 1] == '+' ? equals - 1 : equals;
      return equals != word.text.npos && is_name(word.text.substr(0, end));
    });
    if (all) {
      for (const Token& word : words) assignment(word, state);
      return words.empty() ? Truth::maybe : Truth::yes;
    }
    // Assignments before a command are of its environment.
    while (at < words.size() && words[at].text.find('=') != std::string::npos &&
           is_name(words[at].text.substr(0, words[at].text.find('='))))
      ++at;
    if (at == words.size()) return Truth::yes;
    const std::string& name = words[at].text;
    const std::span<const Token> rest = std::span(words).subspan(at + 1);
    if (words[at].kind == Token::Kind::arithmetic) return arithmetic_truth(words[at], state.variables, file_);
    if (name == "export" || name == "declare" || name == "local" || name == "readonly" || name == "typeset") {
      for (const Token& word : rest) assignment(word, state);
      return Truth::yes;
    }
    if (name == "[" || name == "[[")
      return rest.empty() ? Truth::no : test(rest.first(rest.size() - 1), state.variables, file_);
    if (name == "test") return test(rest, state.variables, file_);
    if (name == "unset") {
      for (const Token& word : rest) state.variables.erase(word.text);
      return Truth::yes;
    }
    if (name == "true" || name == ":" || name == "echo" || name == "printf") {
      if (name == ":") take_defaults(rest, state);
      return Truth::yes;
    }
    if (name == "false") return Truth::no;
    if (name == "shift") return shift(rest, command.line, state);
    if (name == "exit") return state.alive = false, Truth::maybe;
    if (name == "return") {
      if (calls_ == 0) state.alive = false;
      returning_ = calls_ > 0;
      return Truth::maybe;
    }
    if (const auto found = functions_.find(name); found != functions_.end())
      return call(found->second, rest, state);
    launch(command, words.begin() + static_cast<std::ptrdiff_t>(at), state);
    if (reads_script(name))
      for (const std::string& document : command.documents)
        run_body(commands_of(tokens_of(document, file_), file_), state);
    if (name == "exec" && !rest.empty()) state.alive = false;
    return Truth::maybe;
  }

  static bool reads_script(std::string_view name) {
    constexpr std::array<std::string_view, 6> kAll = {"bash", "sh", "sbatch", "srun", "ssh", "qsub"};
    return std::ranges::count(kAll, name) > 0;
  }

  /// : ${NAME:=value}
  void take_defaults(std::span<const Token> words, State& state) {
    Expander expander(state.variables, {}, file_);
    for (const Token& word : words) expander.text(word);
    for (const auto& [name, value] : expander.assigned)
      if (is_name(name)) assign(name, {Token::Kind::word, value, words.front().line}, false, state);
  }

  /// $@, $#, $1 and those after it.
  static void set_arguments(const std::vector<Field>& arguments, int line, State& state) {
    for (std::size_t i = 1; state.variables.erase(std::to_string(i)) > 0; ++i) {
    }
    state.variables["@"] = {{.words = arguments, .array = true}};
    state.variables["*"] = {{.words = arguments, .array = true}};
    state.variables["#"] = {{.words = {{std::to_string(arguments.size()), line}}}};
    for (std::size_t i = 0; i < arguments.size(); ++i)
      state.variables[std::to_string(i + 1)] = {{.words = {arguments[i]}}};
  }

  static void restore_arguments(const Variables& from, State& state) {
    for (std::size_t i = 1; state.variables.erase(std::to_string(i)) > 0; ++i) {
    }
    for (const char* name : {"@", "*", "#"}) state.variables.erase(name);
    for (const auto& [name, value] : from)
      if (name == "@" || name == "*" || name == "#" || whole_number(name)) state.variables[name] = value;
  }

  /// shift and shift N, where the arguments are known.
  Truth shift(std::span<const Token> words, int line, State& state) const {
    const auto found = state.variables.find("@");
    if (found == state.variables.end()) return Truth::maybe;
    Expander expander(state.variables, {}, file_);
    const auto count =
        words.empty() ? std::optional<std::int64_t>(1) : whole_number(expander.text(words.front()));
    std::vector<Field> all = found->second.front().words;
    if (found->second.size() > 1 || !count || *count < 0)
      throw core::BadInput({file_, line, "shift"}, "what is left of the arguments is not known");
    if (*count > std::ssize(all)) return Truth::no;
    all.erase(all.begin(), all.begin() + *count);
    set_arguments(all, line, state);
    return Truth::yes;
  }

  Truth call(const Command& function, std::span<const Token> words, State& state) {
    if (++calls_ > kMostCalls) throw core::BadInput({file_, function.line, ""}, "a function calls itself");
    Expander expander(state.variables, {}, file_);
    for (const Token& word : words) expander.add(word);
    const auto fields = expander.fields();
    const Variables before = state.variables;
    set_arguments(fields, function.line, state);
    const Truth out = run_body(function.branches.front().body, state);
    returning_ = false;
    restore_arguments(before, state);
    --calls_;
    return out == Truth::yes ? Truth::yes : Truth::maybe;
  }

  void launch(const Command& command, std::vector<Token>::const_iterator from, const State& state) {
    Launch out{.line = command.line};
    bool first = true, dashes = false;
    for (auto& world : worlds(state.variables, file_, command.line, [&](Expander& expander) {
           for (auto word = from; word != command.words.end(); ++word)
             if (word->kind == Token::Kind::word) expander.add(*word);
           if (out.array_fault.empty()) out.array_fault = expander.array_fault;
           return expander.fields();
         })) {
      dashes = dashes || has_dashes(world.value);
      if (first)
        out.fields = std::move(world.value);
      else
        out.others.push_back({std::move(world.value), world.by.by, world.by.line, world.by.against});
      first = false;
    }
    if (dashes) out_.launches.push_back(std::move(out));
  }

  void add_lists(const State& state) {
    for (const auto& [name, choices] : state.variables) {
      Launch list{.line = choices.front().line, .fields = choices.front().words};
      for (std::size_t i = 1; i < choices.size(); ++i)
        list.others.push_back({choices[i].words, choices[i].by, choices[i].line, choices[i].against});
      if (has_dashes(list.fields)) out_.lists.push_back(std::move(list));
    }
    std::ranges::stable_sort(out_.lists, {}, &Launch::line);
  }

  std::string file_;
  ScriptRun out_;
  std::map<std::string, Command, std::less<>> functions_;
  std::size_t steps_ = 0;
  int calls_ = 0;
  bool returning_ = false;
};

}  // namespace

namespace {

/// Words of a text as a shell has them; nothing is expanded but quotes.
std::vector<Field> words_of(std::string_view text) {
  const Variables none;
  Expander expander(none, {}, "--args");
  for (const Token& token : tokens_of(text, "--args")) {
    if (token.kind != Token::Kind::word)
      throw core::BadInput({"--args", 0, ""}, fmt::format("expected words, found '{}'", token.text));
    expander.add(token);
  }
  return expander.fields();
}

}  // namespace

ScriptRun run_script(std::string_view text, const std::string& file, std::string_view arguments) {
  return Runner(file).run(commands_of(tokens_of(text, file), file), words_of(arguments));
}

}  // namespace penstock::frameworks::shell
