package report

import (
	"io"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/report/page"
	"dumptool/internal/report/plot"
)

// pageFormat is the format of HTML pages.
const pageFormat = "html"

// writePage writes a comparison as an HTML page.
func writePage(w io.Writer, r *record.Report, opt Options) error {
	return writeComparedPage(w, &page.Comparison{Report: r}, opt)
}

// writeComparedPage writes the page of a comparison with its headline, facts and files.
func writeComparedPage(w io.Writer, c *page.Comparison, opt Options) error {
	c.Labels, c.Headline, c.Facts, c.Files = CompareLabels(c.Report), verdictOf(c.Report).Text(), pageFacts(c.Report), filesBeside(c.Report, opt.beside)
	if c.Before != nil {
		c.BeforeHeadline = verdictOf(c.Before).Text()
	}
	return page.Write(w, c, opt.Page)
}

// pageFacts returns, in both languages, the facts of the text that the page has no cards for.
func pageFacts(r *record.Report) (all []page.Fact) {
	of := func(l Lang) []summaryItem {
		t := Text{Lang: l}
		return append(t.meaningFacts(r), t.statisticsFacts(r)...)
	}
	chinese := of(Chinese)
	for i, f := range of(English) {
		x := page.Fact{Label: lang.Text{EN: f.label, ZH: chinese[i].label}}
		for k, line := range f.lines {
			x.Lines = append(x.Lines, lang.Text{EN: line, ZH: chinese[i].lines[k]})
		}
		all = append(all, x)
	}
	return all
}

// filesBeside returns, by row, the written files that show its operator.
func filesBeside(r *record.Report, written []record.File) map[int][]string {
	names := map[string]bool{}
	for _, f := range written {
		names[f.Name] = true
	}
	stems, _ := operatorStems(r, labelsOf(r), true)
	files := map[int][]string{}
	for i, stem := range stems {
		for _, suffix := range slices.Concat([]string{".csv"}, plot.Suffixes()) {
			if names[stem+suffix] {
				files[i] = append(files[i], stem+suffix)
			}
		}
	}
	return files
}
