package report

import (
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare"
)

// WriteCompareMarkdown writes the summary of a comparison for a comment on a code
// host: the verdict, the findings, the worst rows and what was compared.
func WriteCompareMarkdown(w io.Writer, r *compare.Report) error {
	var b strings.Builder
	b.WriteString("## " + quiet(CompareVerdict(r)) + "\n")
	markdownFacts(&b, slices.Concat(findingFacts(r), problemFacts(r)))
	if worst := compare.WorstRows(r, compareWorst); len(worst) > 0 {
		b.WriteString("\n| " + strings.Join(worstColumns, " | ") + " |\n|---|---|--:|--:|--:|--:|---|\n")
		for _, i := range worst {
			cells := worstCells(&r.Rows[i], 1)
			for j := range cells {
				cells[j] = quiet(cells[j])
			}
			b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		}
	}
	markdownFacts(&b, runFacts(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownFacts writes facts as a list.
func markdownFacts(b *strings.Builder, facts []fact) {
	if len(facts) > 0 {
		b.WriteString("\n")
	}
	for _, f := range facts {
		for i, line := range f.lines {
			switch {
			case i == 0:
				b.WriteString("- **" + f.label + "**: ")
			default:
				b.WriteString("  - ")
			}
			b.WriteString(quiet(line) + "\n")
		}
	}
}

// quiet is text without markup that calls nobody: a name such as @user in it is
// no mention.
func quiet(text string) string {
	return strings.ReplaceAll(markdown(text), "@", "@<!-- -->")
}
