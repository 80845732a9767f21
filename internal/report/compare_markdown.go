package report

import (
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
)

// WriteCompareMarkdown writes the summary of a comparison for a comment on a code
// host: the verdict, the findings, the worst rows and what was compared.
func (t Text) WriteCompareMarkdown(w io.Writer, r *record.Report) error {
	var b strings.Builder
	b.WriteString("## " + markdown(t.CompareVerdict(r)) + "\n")
	t.markdownRounds(&b, r)
	t.writeStripSVG(&b, r)
	t.markdownFacts(&b, slices.Concat(t.findingFacts(r), t.problemFacts(r)))
	if around := aroundFirstBad(r); len(around) > 0 {
		b.WriteString("\n")
		t.aroundTable(around, shortNames{}, 1).Markdown(&b)
	} else if worst := r.Worst(compareWorst); len(worst) > 0 {
		b.WriteString("\n")
		worstTable(r, worst, shortNames{}, 1).Markdown(&b)
	}
	t.markdownFacts(&b, t.runFacts(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// maxMarkdownSteps is the most steps that a matrix in Markdown has beside each other.
const maxMarkdownSteps = 12

// markdownRounds writes which rounds are bad, where there are several.
func (t Text) markdownRounds(b *strings.Builder, r *record.Report) {
	if len(r.Rounds) < 2 {
		return
	}
	b.WriteString("\n" + markdown(t.roundsText(r)) + "\n\n")
	networks := networksOf(r.Rounds)
	if networks == nil {
		roundTable(r).Markdown(b)
		return
	}
	for i := range networks {
		n := &networks[i]
		if n.name != "" {
			b.WriteString(markdown(n.name) + ":\n\n")
		}
		ranks, steps := single(len(n.ranks)), single(len(n.steps))
		if len(ranks) > maxRanks || len(steps) > maxMarkdownSteps {
			ranks, steps = n.merge()
		}
		n.matrix(ranks, steps).Markdown(b)
		b.WriteString("\n")
	}
	if bad := badOperators(r); len(bad) > 0 {
		t.firstBadTable(networks, bad, shortNames{}).Markdown(b)
	}
}

// markdownFacts writes facts as a list.
func (t Text) markdownFacts(b *strings.Builder, facts []fact) {
	if len(facts) > 0 {
		b.WriteString("\n")
	}
	for _, f := range facts {
		for i, line := range f.lines {
			switch {
			case i == 0:
				b.WriteString("- **" + f.label + "**" + t.say(": ", "："))
			default:
				b.WriteString("  - ")
			}
			b.WriteString(markdown(line) + "\n")
		}
		for _, file := range f.files {
			b.WriteString("  - " + markdown(file.side+t.say(": ", "：")+file.path) + "\n")
		}
	}
}
