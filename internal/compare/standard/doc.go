// Package standard has the acceptance standards of single operators of CANN
// (hicann/opbase): what an NPU tensor has to be beside a reference of higher precision,
// and for some of them beside a third result. It leaves out how operators are tested:
// which inputs, how many cases, medians of several runs.
package standard
