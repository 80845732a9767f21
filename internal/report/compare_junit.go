package report

import (
	"cmp"
	"encoding/xml"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// junitCounts holds the attributes of the suite, which is the run, and of the root element.
type junitCounts struct {
	Name                             string
	Tests, Failures, Errors, Skipped int
}

// junitCase is a row as a test case.
type junitCase struct {
	Class      string           `xml:"classname,attr"`
	Name       string           `xml:"name,attr"`
	Time       int              `xml:"time,attr"`
	Properties *junitProperties `xml:"properties"`
	Failure    *junitOutcome    `xml:"failure"`
	Error      *junitOutcome    `xml:"error"`
	Skipped    *junitOutcome    `xml:"skipped"`
	Output     string           `xml:"system-out,omitempty"`
}

// junitProperties is a list of named values.
type junitProperties struct {
	Property []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// junitOutcome is the reason why a case did not pass.
type junitOutcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Body    string `xml:",chardata"`
}

// WriteCompareJUnit writes the rows as test cases. FAIL is a failure; errors and mismatches of
// shape, type or name are errors. Skipped are rows not compared on request or only in part,
// failures known to the baseline, and passing rows that prove nothing.
func WriteCompareJUnit(w io.Writer, r *record.Report) error {
	suite := junitCounts{Name: "dumptool compare", Tests: r.Len()}
	properties := &junitProperties{[]junitProperty{{"profile", escapeLines(r.Profile)}, {"nan_policy", r.NaNPolicy}, {"tol_mode", r.TolMode},
		{"order_source", escapeLines(r.OrderSource.String())}, {"verdict", escapeLines(english.CompareVerdict(r))}}}
	if r.LeftOut > 0 {
		properties.Property = append(properties.Property, junitProperty{"rows", strconv.Itoa(r.Total())}, junitProperty{"left_out", strconv.Itoa(r.LeftOut)})
	}
	worse := map[int]bool{}
	if r.Baseline != nil {
		for _, i := range r.Baseline.Worse {
			worse[i] = true
		}
	}
	unproven := ""
	if r.Meaning.CannotShowFault() {
		unproven = english.CompareVerdict(r)
	}
	for i, row := range r.AllRows() {
		switch kind := junitKindOf(row.Status, row.Known && !worse[i]); {
		case kind == junitFailure:
			suite.Failures++
		case kind == junitError:
			suite.Errors++
		case kind == junitSkipped, unproven != "":
			suite.Skipped++
		}
	}
	between := rankCases(ranksOf(r), &suite)
	return writeJUnit(w, &suite, properties, concatenate(between, func(yield func(junitCase) bool) {
		for i, row := range r.AllRows() {
			if !yield(junitCaseOf(row, worse[i], unproven)) {
				return
			}
		}
	}))
}

// writeJUnit writes a suite and its cases.
func writeJUnit(w io.Writer, suite *junitCounts, properties *junitProperties, cases iter.Seq[junitCase]) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	root, inner := suite.start("testsuites"), suite.start("testsuite")
	if err := cmp.Or(enc.EncodeToken(root), enc.EncodeToken(inner), enc.EncodeElement(properties, junitElement("properties"))); err != nil {
		return err
	}
	for c := range cases {
		if err := enc.EncodeElement(c, junitElement("testcase")); err != nil {
			return err
		}
	}
	if err := cmp.Or(enc.EncodeToken(inner.End()), enc.EncodeToken(root.End()), enc.Close()); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// start returns the start element with the counts.
func (c *junitCounts) start(name string) xml.StartElement {
	attribute := func(name, value string) xml.Attr { return xml.Attr{Name: xml.Name{Local: name}, Value: value} }
	e := junitElement(name)
	e.Attr = []xml.Attr{attribute("name", c.Name)}
	for _, n := range []struct {
		name  string
		count int
	}{{"tests", c.Tests}, {"failures", c.Failures}, {"errors", c.Errors}, {"skipped", c.Skipped}, {"time", 0}} {
		e.Attr = append(e.Attr, attribute(n.name, strconv.Itoa(n.count)))
	}
	return e
}

func junitElement(name string) xml.StartElement { return xml.StartElement{Name: xml.Name{Local: name}} }

// junitKind is the outcome of a case.
type junitKind int

// The kinds.
const (
	junitPassed junitKind = iota
	junitNoted            // passes with a remark
	junitFailure
	junitError
	junitSkipped
)

// junitKindOf returns the kind of a row with a status; known failures are skipped.
func junitKindOf(status record.Status, known bool) junitKind {
	switch status {
	case record.Pass:
		return junitPassed
	case record.Warn, record.Rounding:
		return junitNoted
	case record.Fail:
		if known {
			return junitSkipped
		}
		return junitFailure
	case record.Skip, record.UnmatchedRef, record.UnmatchedNPU, record.Partial:
		return junitSkipped
	}
	return junitError
}

// english is the language of reports for programs.
var english = Text{Lang: English}

// junitCaseOf makes the case of a row. unproven says why passing rows prove nothing; empty if they
// do.
func junitCaseOf(row *record.Row, worse bool, unproven string) junitCase {
	c := junitCase{Class: escapeLines(className(row)), Name: escapeLines(row.Name()), Properties: junitRow(row)}
	known := row.Known && !worse
	kind := junitKindOf(row.Status, known)
	switch passes := kind == junitPassed || kind == junitNoted; {
	case passes && unproven != "":
		c.Skipped = &junitOutcome{Message: escapeLines(unproven), Type: string(row.Status)}
		return c
	case kind == junitPassed:
		return c
	}
	outcome := &junitOutcome{Message: escapeLines(firstReason(row)), Type: string(row.Status), Body: escapeLines(junitBody(row))}
	if known && row.Status == record.Fail {
		outcome.Message = "known to the baseline: " + outcome.Message
	}
	switch kind {
	case junitNoted:
		c.Output = outcome.Body
	case junitFailure:
		c.Failure = outcome
	case junitSkipped:
		c.Skipped = outcome
	default:
		c.Error = outcome
	}
	return c
}

// className groups rows by the operator's type, else by the outermost scope of its name.
func className(row *record.Row) string {
	if row.OpType != "" {
		return row.OpType
	}
	if scope, _, ok := strings.Cut(strings.TrimPrefix(row.Op, "/"), "/"); ok && scope != "" {
		return scope
	}
	return "compare"
}

// firstReason returns the message of a case: the first reason, else the status.
func firstReason(row *record.Row) string {
	if lines := english.reasonLines(row); len(lines) > 0 {
		return lines[0]
	}
	if !row.IsCompared() {
		return string(row.Status) + ": " + english.notComparedText(row)
	}
	return string(row.Status) + ": " + english.errorsText(row)
}

// junitBody describes a row.
func junitBody(row *record.Row) string {
	lines := slices.Concat([]string{string(row.Status) + " " + rowTitle(row)}, english.reasonLines(row))
	for _, file := range english.filesOf(row) {
		lines = append(lines, file.side+": "+file.path)
	}
	if row.Err != nil {
		lines = append(lines, "error: "+row.Err.Error())
	}
	if !row.IsCompared() {
		return strings.Join(lines, "\n")
	}
	lines = append(lines, "shape: "+row.Shape.String(), english.errorsText(row))
	for _, e := range row.Result.Worst {
		lines = append(lines, "at "+strconv.FormatInt(e.Offset, 10)+" ("+tensor.Shape(record.Coordinates(row.Shape, e.Offset)).Join(", ")+"): reference "+
			formatElement(e.Ref, allDigits)+", NPU "+formatElement(e.NPU, allDigits)+", abs "+exactMetric(differenceMetric(e.Abs))+", rel "+exactMetric(differenceMetric(e.Rel)))
	}
	return strings.Join(lines, "\n")
}

// junitRow returns the round and the metrics of a row as properties, nil for none.
func junitRow(row *record.Row) *junitProperties {
	var all []junitProperty
	if row.Status == record.Rounding {
		all = append(all, junitProperty{"rounding", "true"})
	}
	for _, c := range row.RoundCoordinates.Coordinates() {
		if c.Value != "" {
			all = append(all, junitProperty{c.Name, escapeLines(c.Value)})
		}
	}
	if row.IsCompared() {
		all = append(all, junitMetrics(row)...)
	}
	if len(all) == 0 {
		return nil
	}
	return &junitProperties{all}
}

// junitMetrics returns the metrics of a compared row.
func junitMetrics(row *record.Row) []junitProperty {
	r := row.Result
	properties := []junitProperty{
		{"status", string(row.Status)},
		{"total", strconv.FormatInt(r.Total, 10)},
		{"errors", strconv.FormatInt(row.Errors, 10)},
		{"atol", allDigits(row.Limits.Atol)},
		{"rtol", allDigits(row.Limits.Rtol)},
	}
	for _, m := range metrics.ReportMetrics(metrics.JUnit) {
		properties = append(properties, junitProperty{m.Title, exactMetric(m.MetricOf(r))})
	}
	return append(properties, junitProperty{"class_mismatch", strconv.FormatInt(r.Mismatch.Count, 10)})
}
