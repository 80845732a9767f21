package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Evidence has one form: what is seen, the numbers, where, and a hypothesis in
// brackets with a question mark. Measures have 3 significant digits, elements 6.
// A probability is given by its limit.

// number is one that was measured, element one of a tensor, or a number to hold
// against one.
type (
	number  float64
	element float64
)

func (n number) String() string {
	text := strconv.FormatFloat(float64(n), 'g', 3, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return element(rounded).String()
}

func (e element) String() string { return strconv.FormatFloat(float64(e), 'g', 6, 64) }

// semicolon stands between the parts of evidence.
var semicolon = lang.Text{EN: "; ", ZH: "；"}

// inputNames names the inputs of the evidence.
func (r *row) inputNames() lang.Sentence {
	return lang.Sayf("%s%s", "%s%s", someOf(r.resolved().rows), r.guess())
}

// guess says how the inputs are known where no graph names them.
func (r *row) guess() lang.Sentence {
	switch in := r.resolved(); {
	case in.inferred:
		return lang.Sayf(", inferred from the execution order", "，由执行顺序推断")
	case len(in.through) > 0:
		return lang.Sayf(", through %s (no dump)", "，经由 %s(无 dump)", firstOf(in.through))
	default:
		return lang.Sentence{}
	}
}

func rowName(r *record.Row) string {
	if r.Kind == "" || r.Kind == string(tensor.Output) {
		return fmt.Sprintf("%s:%d", r.Op, r.Output)
	}
	return fmt.Sprintf("%s:%s:%d", r.Op, r.Kind, r.Output)
}

// mostNames is the number of names that evidence lists.
const mostNames = 3

// firstOf joins the first few names.
func firstOf(names []string) lang.Sentence {
	shown := min(len(names), mostNames)
	return andMore(lang.Plain(strings.Join(names[:shown], ", ")), len(names)-shown)
}

// someOf joins the names of the first few rows.
func someOf(rows []*row) lang.Sentence {
	names := make([]string, 0, mostNames)
	for _, r := range rows[:min(len(rows), mostNames)] {
		names = append(names, rowName(r.source))
	}
	return andMore(lang.Plain(strings.Join(names, ", ")), len(rows)-len(names))
}

// andMore says how many more there are than a list shows.
func andMore(list lang.Sentence, more int) lang.Sentence {
	if more <= 0 {
		return list
	}
	return lang.Sayf("%s and %d more", "%s，另有 %d 个", list, more)
}

// metricText is a metric that may be undefined.
func metricText(m metrics.Metric) any {
	if !m.Defined {
		return lang.Text{EN: "undefined", ZH: "未定义"}
	}
	return number(m.Value)
}
