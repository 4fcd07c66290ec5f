#pragma once
// The standard normal distribution, equal on every platform.

namespace penstock::sim {

/// Value below which the share `p` lies; finite for 0 and 1 too.
double normal_quantile(double p);

double normal_share_below(double x);

}  // namespace penstock::sim
