package report

import (
	"cmp"
	"slices"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// tokenFacts gives the numbers of log probabilities, a line for each of their rows, the largest ratio first.
func (t Text) tokenFacts(r *record.Report) []summaryItem {
	var rows []*record.Row
	for _, row := range r.AllRows() {
		if row.Tokens != nil {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b *record.Row) int {
		return cmp.Compare(b.Tokens.Ratio.OrNaN(), a.Tokens.Ratio.OrNaN())
	})
	lines := firstLines(t, rows, compareWorst, func(row *record.Row) string {
		return rowTitle(row) + t.format(": ") + t.sentence(row.Tokens.Sentence())
	})
	return []summaryItem{{label: t.format("Tokens"), lines: lines}}
}

// tokenSet is a set of successive sequences or positions.
type tokenSet struct {
	places string
	*metrics.TokenNumbers
}

// maxTokens is the number of sequences, and of positions, in the tables of a row.
const maxTokens = 8

// worstTokens returns the sets with the largest mean |d|, the largest first. Each stands for fold places.
func worstTokens(all []metrics.TokenNumbers, fold int64) (worst []tokenSet) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	order = slices.DeleteFunc(order, func(i int) bool { return !all[i].MeanAbs.IsDefined() })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[b].MeanAbs.Value(), all[a].MeanAbs.Value()) })
	for _, i := range order[:min(len(order), maxTokens)] {
		places := strconv.FormatInt(int64(i)*fold, 10)
		if fold > 1 {
			places += "-" + strconv.FormatInt(int64(i+1)*fold-1, 10)
		}
		worst = append(worst, tokenSet{places, &all[i]})
	}
	return worst
}

// tokenTable lists sets of tokens.
func tokenTable(title string, sets []tokenSet) Table[tokenSet] {
	return Table[tokenSet]{Rows: sets, Columns: append([]Column[tokenSet]{textColumn("places", func(s tokenSet) string { return s.places }).withTitle(title)},
		tokenColumns(func(s tokenSet) *metrics.TokenNumbers { return s.TokenNumbers }, shortMetric)...)}
}

// tokenColumns are the columns of the numbers of tokens; of returns nil for a line without them.
func tokenColumns[R any](of func(R) *metrics.TokenNumbers, number func(metrics.Metric) string) (all []Column[R]) {
	for i, c := range []struct {
		name, title string
		cell        func(*metrics.TokenNumbers) numeral
	}{
		{"tokens", "TOKENS", func(n *metrics.TokenNumbers) numeral { return numeral(strconv.FormatInt(n.Counted, 10)) }},
		{"token_mean_abs", "MEAN_ABS", func(n *metrics.TokenNumbers) numeral { return numeral(number(n.MeanAbs)) }},
		{"k1", "K1", func(n *metrics.TokenNumbers) numeral { return numeral(number(n.K1)) }},
		{"k3", "K3", func(n *metrics.TokenNumbers) numeral { return numeral(number(n.K3)) }},
		{"largest_ratio", "RATIO", func(n *metrics.TokenNumbers) numeral { return numeral(number(n.Ratio)) }},
		{"tokens_beyond_2x", "BEYOND_2X", func(n *metrics.TokenNumbers) numeral { return numeral(strconv.FormatInt(n.Beyond, 10)) }},
	} {
		all = append(all, numberColumn(c.name, func(r R) numeral {
			if n := of(r); n != nil {
				return c.cell(n)
			}
			return undefined
		}).withTitle(c.title).withRank(i))
	}
	return all
}
