// A link transmits if its direct gain is at least 60 % of the largest direct gain.
//
// Reads one network per line, {"gains":[[…],[…]],…}, and writes one allocation per line, {"power":[…]}. Row k of the
// gains contains the gains of the paths to receiver k. The power limit of every transmitter is 1, the default.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::vector<double> gains;
        const char *at = line.c_str() + line.find("\"gains\":") + 8;
        for (int depth = 0; *at != '\0' && !(depth == 1 && *at == ']');) {
            if (*at == '[') ++depth;
            if (*at == ']') --depth;
            char *end = nullptr;
            const double gain = std::strtod(at, &end);
            if (end != at) gains.push_back(gain);
            at = end != at ? end : at + 1;
        }
        const std::size_t links = std::lround(std::sqrt(gains.size()));
        double best = 0;
        for (std::size_t k = 0; k < links; ++k) best = std::max(best, gains[k * links + k]);
        std::cout << "{\"power\":[";
        for (std::size_t k = 0; k < links; ++k)
            std::cout << (k > 0 ? "," : "") << (gains[k * links + k] >= 0.6 * best ? 1 : 0);
        std::cout << "]}" << std::endl; // std::endl also flushes the line
    }
}
