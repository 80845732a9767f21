package dumpconf

import (
	"bytes"

	"dumptool/internal/jsonpos"
)

// maxRounds bounds Repair. A round fixes what the list of problems has room
// for; each but the last makes the text better.
const maxRounds = 64

// maxRepaired bounds the bytes that the rounds of Repair read together: what
// takes more has faults in the hundred thousands, and another run goes on.
const maxRepaired = 32 << 20

// Fix applies the edits of findings to the text they were found in. Where
// edits overlap the larger one counts, and the first of equals.
func Fix(src []byte, findings []Finding) []byte {
	var edits []jsonpos.Edit
	for i := range findings {
		for _, e := range findings[i].Edits {
			if e.Offset >= 0 && e.Length >= 0 && e.Length <= len(src)-e.Offset {
				edits = append(edits, e)
			}
		}
	}
	return jsonpos.Apply(src, edits)
}

// Repair checks and fixes a text until nothing is left that can be fixed, and
// returns the text and its last report. It never makes errors more, and text
// that it changed is JSON.
func Repair(name string, src []byte, opt Options) ([]byte, *Report) {
	report := Check(name, src, opt)
	for done := 0; done < maxRounds && done*len(src) < maxRepaired; done++ {
		// A misspelled key that gets its right name may reveal what is wrong
		// with its value: then the warning stays, for the user to decide.
		fixed, after := tryFix(src, report, opt, Info)
		if after.Count(Error) > report.Count(Error) {
			fixed, after = tryFix(src, report, opt, Error)
		}
		if bytes.Equal(fixed, src) || after.Count(Error) > report.Count(Error) || !after.Doc.Valid() {
			break
		}
		src, report = fixed, after
	}
	return src, report
}

// tryFix applies the edits of findings that are at least so severe.
func tryFix(src []byte, report *Report, opt Options, least Severity) ([]byte, *Report) {
	fixed := Fix(src, report.findings(func(f *Finding) bool { return f.Severity >= least }))
	if bytes.Equal(fixed, src) {
		return src, report
	}
	return fixed, Check(report.Name, fixed, opt)
}
