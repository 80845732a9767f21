package determinism

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// errElements is the error of a tensor that only other runs have statistics of.
var errElements = errors.New("it has elements and no statistics, other runs have statistics only")

// checkStatistics compares a tensor of which runs have digests or statistics only: by the
// digests where all have them, else by the numbers as they are printed.
func (t *tensors) checkStatistics(r *Row) {
	digests := !slices.ContainsFunc(t.items, func(it *compare.Tensor) bool {
		return it != nil && (it.Statistics == nil || it.Statistics.Digest == "")
	})
	contents := map[string]bool{}
	for i, it := range t.items {
		if it == nil {
			continue
		}
		r.Drifts[i].File, r.Drifts[i].Table = new(it.String()), true
		switch {
		case it.Err != nil:
			r.fail(it, it.Err)
			return
		case it.Statistics == nil || !it.Statistics.Suffice():
			r.fail(it, errElements)
			return
		}
		s := it.Statistics
		if i > 0 {
			r.Drifts[i].Why = difference(t.items[0].Statistics, s, digests)
		}
		contents[fmt.Sprint(s.DType, s.Shape, content(s, digests))] = true
	}
	if r.Distinct = len(contents); r.Distinct > 1 {
		r.Status = record.Fail
	}
}

// compared are the numbers that statistics are compared by.
var compared = []dumpdir.Statistic{dumpdir.Max, dumpdir.Min, dumpdir.Mean, dumpdir.Norm}

// content is what tensors of one type and shape differ in.
func content(s *dumpdir.Statistics, digests bool) string {
	if digests {
		return s.Digest
	}
	text := ""
	for _, what := range compared {
		text += number(s, what) + " "
	}
	return text
}

// number is a statistic as it is printed.
func number(s *dumpdir.Statistics, what dumpdir.Statistic) string {
	v, ok := s.Values.Get(what)
	if !ok {
		return "unknown"
	}
	if v == 0 {
		v = math.Abs(v)
	}
	return fmt.Sprint(v)
}

// difference says in what a tensor differs from that of the first run; empty for nothing.
func difference(first, other *dumpdir.Statistics, digests bool) lang.Sentence {
	say := func(a, b any) lang.Sentence {
		return lang.Sayf("%v in the first run, %v here", "首次运行为 %v，此处为 %v", a, b)
	}
	switch {
	case first.DType != other.DType:
		return say(first.DType, other.DType)
	case !first.Shape.Equal(other.Shape):
		return say(first.Shape, other.Shape)
	case digests && first.Digest != other.Digest:
		return lang.Sayf("digest %v", "摘要 %v", say(first.Digest, other.Digest))
	case digests:
		return lang.Sentence{}
	}
	for _, what := range compared {
		if a, b := number(first, what), number(other, what); a != b {
			return lang.Sayf("%s %v", "%s %v", what.String(), say(a, b))
		}
	}
	return lang.Sentence{}
}
