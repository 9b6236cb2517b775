#include "workers/tools/page/relevance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "workers/tools/page/dom.hpp"

namespace cairn {
namespace {

constexpr std::size_t word_letters_min = 3;  // shorter ones stand everywhere
constexpr std::size_t text_bytes_max = 600;  // of one element
constexpr double weight_over = 1'000;        // of what lies over the rest, and of errors
constexpr double weight_acted = 1;
constexpr double weight_near = 0.4;  // of its best neighbour's

std::string for_markup(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '&')
      plain += "&amp;";
    else if (c == '<')
      plain += "&lt;";
    else if (c == '>')
      plain += "&gt;";
    else if (c == '"')
      plain += "&quot;";
    else
      plain += c;
  }
  return plain;
}

// The beginning of a text, cut between two characters.
std::string beginning(const std::string& text) {
  if (text.size() <= text_bytes_max) return text;
  std::size_t end = text_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string opening_tag(const PageElement& element) {
  std::string tag = "<" + element.tag;
  for (const auto& [name, value] : element.attributes) {
    tag += " " + name;
    if (!value.empty()) tag += "=\"" + for_markup(beginning(value)) + "\"";
  }
  return tag + ">" + for_markup(beginning(element.text));
}

bool is_over(const PageElement& element) {
  const std::string_view role = element.attribute("role");
  return element.tag == "dialog" || role == "dialog" || role == "alertdialog" || role == "alert";
}

std::set<std::string> words_in(const PageElement& element) {
  std::set<std::string> words;
  for (const std::string& text : {element.text, element.label(), std::string(element.attribute("value")),
                                  std::string(element.attribute("options")), std::string(element.attribute("href"))}) {
    for (std::string& word : words_of(text))
      if (word.size() >= word_letters_min) words.insert(std::move(word));
  }
  return words;
}

class Excerpt {
 public:
  Excerpt(const PageElements& page, std::string_view task) : page_(page), scores_(page.size()), kept_(page.size()) {
    std::set<std::string> asked;
    for (std::string& word : words_of(task))
      if (word.size() >= word_letters_min) asked.insert(std::move(word));
    score_words(asked);
    score_places();
  }

  std::string text(std::size_t bytes_max) {
    std::vector<std::size_t> order(page_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return scores_[a] > scores_[b]; });
    std::size_t left = bytes_max;
    for (const std::size_t place : order) {
      if (!keep(place, left)) break;
    }
    return written();
  }

 private:
  void score_words(const std::set<std::string>& asked) {
    std::map<std::string, double> count;
    std::vector<std::set<std::string>> shared(page_.size());
    for (std::size_t place = 0; place < page_.size(); ++place) {
      for (const std::string& word : words_in(page_[place])) {
        if (!asked.contains(word)) continue;
        shared[place].insert(word);
        ++count[word];
      }
    }
    const auto all = static_cast<double>(page_.size() + 1);
    for (std::size_t place = 0; place < page_.size(); ++place)
      for (const std::string& word : shared[place]) scores_[place] += 1 + std::log(all / count[word]);
  }

  // An element inside another lies over the rest with it, and a neighbour of a good one is better for it.
  void score_places() {
    std::map<std::size_t, double> best;  // by parent
    for (std::size_t place = 0; place < page_.size(); ++place)
      best[page_[place].parent] = std::max(best[page_[place].parent], scores_[place]);
    std::vector<bool> over(page_.size());
    for (std::size_t place = 0; place < page_.size(); ++place) {
      const PageElement& element = page_[place];
      over[place] = is_over(element) || (element.parent > 0 && over[element.parent - 1]);
      const auto inner = best.find(place + 1);
      const double near = std::max(best[element.parent], inner == best.end() ? 0 : inner->second);
      scores_[place] = std::max(scores_[place], near * weight_near);
      if (element.number) scores_[place] += weight_acted;
      if (over[place]) scores_[place] += weight_over;
    }
  }

  // With all that encloses it. False: there is no room for it.
  bool keep(std::size_t place, std::size_t& left) {
    std::size_t bytes = 0;
    std::vector<std::size_t> added;
    for (std::size_t at = place + 1; at > 0 && !kept_[at - 1]; at = page_[at - 1].parent) {
      added.push_back(at - 1);
      bytes += opening_tag(page_[at - 1]).size() + page_[at - 1].tag.size() + 8;
    }
    if (bytes > left) return false;
    left -= bytes;
    for (const std::size_t one : added) kept_[one] = true;
    return true;
  }

  std::string written() const {
    std::string text;
    std::vector<std::size_t> open;
    bool has_gap = false;
    const auto close_to = [&](std::size_t parent) {
      while (!open.empty() && open.back() + 1 != parent) {
        text += "</" + page_[open.back()].tag + ">\n";
        open.pop_back();
      }
    };
    for (std::size_t place = 0; place < page_.size(); ++place) {
      if (!kept_[place]) {
        has_gap = true;
        continue;
      }
      close_to(page_[place].parent);
      if (has_gap) text += "...\n";
      has_gap = false;
      text += opening_tag(page_[place]);
      open.push_back(place);
    }
    close_to(0);
    return has_gap ? text + "...\n" : text;
  }

  const PageElements& page_;
  std::vector<double> scores_;
  std::vector<bool> kept_;
};

}  // namespace

std::string relevant_dom(std::string_view dom, std::string_view task, std::size_t bytes_max) {
  if (dom.size() <= bytes_max) return std::string(dom);
  const PageElements page = read_page(dom);
  return Excerpt(page, task).text(bytes_max);
}

}  // namespace cairn
