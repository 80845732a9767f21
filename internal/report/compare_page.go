package report

import (
	"io"
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/report/page"
	"dumptool/internal/report/plot"
)

// pageFormat is the format of pages for a browser.
const pageFormat = "html"

// writePage writes a comparison as a page.
func writePage(w io.Writer, r *record.Report, opt Options) error {
	return page.Write(w, &page.Comparison{Report: r, Headline: verdictOf(r).Text(), Labels: CompareLabels(r), Files: filesBeside(r, opt.beside)}, opt.Page)
}

// filesBeside are, by row, those of the written files that show its operator.
func filesBeside(r *record.Report, written []record.File) map[int][]string {
	names := map[string]bool{}
	for _, f := range written {
		names[f.Name] = true
	}
	_, stems, _ := operatorStems(r, true)
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
