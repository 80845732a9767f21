package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/filename"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
)

// fileFinding is a finding with its file, for services that show findings beside files.
type fileFinding struct {
	// rule is the code of the finding, about its description.
	rule, about string
	// level is error, warning or note.
	level string
	// file is the script line that called the operator, or the file of its tensor with line 0.
	file string
	line int
	// title names the operator, text describes the finding; key identifies it across runs.
	title, text, key string
}

// The levels of places, with SARIF's names.
const (
	levelError   = "error"
	levelWarning = "warning"
	levelNote    = "note"
)

// setFile sets the place from a script line, FILE:LINE, else from a file.
func (p *fileFinding) setFile(script, file string) {
	p.file = file
	if i := strings.LastIndexByte(script, ':'); i > 0 {
		if line, err := strconv.Atoi(script[i+1:]); err == nil && line > 0 {
			p.file, p.line = script[:i], line
		}
	}
}

// unprovenPlace returns a place at the first file of a comparison that proves nothing.
func unprovenPlace(r *record.Report) []fileFinding {
	if !r.Meaning.CannotShowFault() {
		return nil
	}
	for _, row := range r.AllRows() {
		if name := cmp.Or(row.NPUFile, row.RefFile); name != "" {
			return []fileFinding{{rule: "NO_PROOF", about: "the comparison proves nothing", level: levelWarning, file: fileOf(name), title: "verdict", text: english.CompareVerdict(r), key: "verdict"}}
		}
	}
	return nil
}

// comparePlaces returns the rows that did not pass. Rows damaged by an origin, and rows known to
// the baseline, are notes.
func comparePlaces(r *record.Report) (all []fileFinding) {
	names := labelsOf(r)
	for _, row := range r.AllRows() {
		p := fileFinding{level: levelOfRow(row), title: names.labelOf(row), key: row.Name()}
		if p.level == "" {
			continue
		}
		p.rule = string(cmp.Or(row.FirstCode(), finding.Code(row.Status)))
		p.about = strings.ToLower(strings.ReplaceAll(p.rule, "_", " "))
		p.setFile(row.Script, fileOf(cmp.Or(row.NPUFile, row.RefFile)))
		p.text = fmt.Sprintf("%s: %s", names.labelOf(row), row.Status)
		if row.IsCompared() {
			p.text += fmt.Sprintf(", %d of %d elements are errors", row.Errors, row.Result.Total)
		}
		if why := english.notComparedText(row); why != "" {
			p.text += "; " + why
		}
		all = append(all, p)
	}
	return all
}

// selectorSuffix matches the suffix of a file name that selects one of its tensors.
var selectorSuffix = lang.Pattern(`:(input|output|gradient|parameter):[^:/]+$`)

// fileOf returns the file of a tensor named FILE:output:1, or FILE:NAME if FILE has the extension
// of a file with named tensors: after a merge only the name is known.
func fileOf(name string) string {
	for i := range name {
		if name[i] == ':' && filename.Container(name[:i]) != "" {
			return name[:i]
		}
	}
	return selectorSuffix().ReplaceAllString(name, "")
}

// levelOfRow returns the level of a row, empty if there is nothing to report.
func levelOfRow(row *record.Row) string {
	switch {
	case row.Downstream || row.Known:
		return levelNote
	case row.Status.IsBad() || row.Status == record.Error:
		return levelError
	case row.Status == record.Warn || row.Status == record.Partial:
		return levelWarning
	}
	return ""
}

// analysisPlaces returns the overflow records.
func analysisPlaces(r *overflow.Report) (all []fileFinding) {
	for i := range r.Records {
		x := &r.Records[i]
		p := placeOf(x.Verdict)
		name := "unknown operator"
		p.file, p.key = x.File, fmt.Sprintf("%s %d", x.File, x.Timestamp)
		if op := x.Op; op != nil {
			name = op.Name
			p.setFile("", cmp.Or(op.File, x.File))
		}
		p.title = name
		p.text = fmt.Sprintf("%s: overflow of %s", name, x.Unit)
		for _, why := range []string{causesText(x), string(x.Verdict), x.Reason} {
			if why != "" {
				p.text += "; " + why
			}
		}
		all = append(all, p)
	}
	return all
}

// scanPlaces returns the operators with bad tensors.
func scanPlaces(r *overflow.ScanReport) (all []fileFinding) {
	for i := range r.Rows {
		x := &r.Rows[i]
		if x.Verdict == "" {
			continue
		}
		p := placeOf(x.Verdict)
		p.title = cmp.Or(x.OpName, x.File)
		p.setFile(x.Script, x.File)
		p.key = strings.Join([]string{x.Rank, x.Step, x.Graph, x.File}, " ")
		p.text = fmt.Sprintf("%s: values that are not finite or at the limit of their type; %s", p.title, x.Verdict)
		all = append(all, p)
	}
	return all
}

// placeOf returns a place for an overflow verdict; an overflow that came from an earlier operator is a note.
func placeOf(v overflow.Verdict) fileFinding {
	p := fileFinding{rule: strings.ToUpper(strings.ReplaceAll(string(v), " ", "_")), about: "overflow: " + string(v), level: levelError}
	switch v {
	case overflow.CameIn, overflow.CameFromRank:
		p.level = levelNote
	case overflow.CannotTell:
		p.level = levelWarning
	}
	return p
}

// sarifWriter returns a writer of places as a SARIF 2.1.0 (OASIS) log; tool returns the program and its
// version. Files are named as given: a result without lines has no region.
func sarifWriter[R any](places func(R) []fileFinding, tool func(R) string) func(io.Writer, R) error {
	return func(w io.Writer, result R) error {
		run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}, Invocations: []sarifInvocation{{Successful: true}}}
		all := places(result)
		rules := sarifRulesOf(all)
		for _, p := range all {
			x := sarifResult{RuleID: p.rule, Level: p.level, Message: sarifMessage{p.text},
				RuleIndex:    slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == p.rule }),
				Fingerprints: map[string]string{"tensor/v1": p.key}}
			var l sarifLocation
			l.Physical.Artifact.URI = uriIn("", p.file)
			if p.line > 0 {
				l.Physical.Region = &sarifRegion{StartLine: p.line, StartColumn: 1, EndColumn: 1}
			}
			x.Locations = []sarifLocation{l}
			run.Results = append(run.Results, x)
		}
		return writeSARIF(w, tool(result), rules, run)
	}
}

// sarifRulesOf returns the rules of places, ordered by name.
func sarifRulesOf(all []fileFinding) []sarifRule {
	rules := []sarifRule{}
	for _, p := range all {
		if slices.ContainsFunc(rules, func(r sarifRule) bool { return r.ID == p.rule }) {
			continue
		}
		r := sarifRule{ID: p.rule, Short: sarifMessage{p.about}}
		r.Default.Level = p.level
		rules = append(rules, r)
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	return rules
}
