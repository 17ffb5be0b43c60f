// A plan as Python writes it (src/mpiric/build/plan.py), for one key.
#pragma once

#include "request.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mpiric::front {

struct Step {
    std::string section, description;  // name and content of a section of the fat object
    std::string made;
    std::vector<std::string> argv;
};

struct Plan {
    std::string sentences;  // said before the compiler's own words
    bool retry;             // Python knows another way to compile a file that does not
    bool baseline_alone;
    std::vector<std::string> directories;
    std::vector<Step> steps;  // the baseline first; one without a section where no variants are made
};

// How to recognise a build system's questions about the compiler, and the command that answers them.
struct Question {
    std::vector<std::string> marks;      // parts of a file's path that only questions have
    std::vector<std::string> own_words;  // beginnings of words that are for mpiric: Python reads those
    std::size_t named;                   // how many of the first words name the compiler
    std::vector<std::string> compiler;
};

// Where the plan for a key is kept, "" where nothing is.
std::string plan_path(const std::string& key);

// The plan, when it was made for just this key, by this user, and nothing it was made from has changed since.
std::optional<Plan> load_plan(const std::string& path, const std::string& key, const Request& request);

std::optional<Question> load_question(const std::string& path, const std::string& key);

// Whether these words, in this directory, are such a question.
bool is_asked(const Question& question, const std::vector<std::string>& words);

// A word of a plan with its holes filled for one file.
std::string filled(const std::string& word, const Request& request, const std::string& scratch);
std::vector<std::string> all_filled(const std::vector<std::string>& words, const Request& request,
                                    const std::string& scratch);

}  // namespace mpiric::front
