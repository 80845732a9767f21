package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/safefile"
)

// resolve checks the flags about baseline and exit status.
func (o *baselineFlags) resolve(a *app, opt *compare.Options) error {
	for _, name := range o.failOn {
		if strings.TrimSpace(name) == "" {
			continue
		}
		status, ok := failStatuses[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")]
		if !ok {
			return usagef("--fail-on %s: want fail, shape, dtype, ambiguous, warn, partial, skip, unmatched-ref or unmatched-npu", name)
		}
		opt.FailOn = append(opt.FailOn, status)
	}
	switch {
	case len(opt.FailOn) == 0:
		return usagef("--fail-on: no status given; --exit-zero keeps failures from the exit status")
	case o.update && o.file == "":
		return usagef("--update-baseline needs --baseline FILE")
	case o.failFast && o.file != "":
		return usagef("--fail-fast cannot stand beside --baseline, which is about all failures of a run")
	case !(o.slack >= 1):
		return usagef("--baseline-slack %g: want a factor from 1", o.slack)
	case o.minBins < 1:
		return usagef("--min-bins %d: want at least 1", o.minBins)
	case o.maxBins < o.minBins:
		return usagef("--max-bins %d: want at least %d, the value of --min-bins", o.maxBins, o.minBins)
	}
	if _, _, err := parseCoverage(o.coverage); err != nil {
		return err
	}
	if o.showGraph {
		a.msg.Warnf("--show-graph: plots are not drawn")
	}
	return o.read(opt)
}

// read reads the baseline. One that is to be written need not be there.
func (o *baselineFlags) read(opt *compare.Options) error {
	if o.file == "" {
		return nil
	}
	data, err := os.ReadFile(o.file)
	if errors.Is(err, os.ErrNotExist) && o.update {
		return nil
	}
	if err == nil {
		opt.Baseline, err = compare.ReadBaseline(data)
		opt.BaselineFile = filepath.ToSlash(o.file)
	}
	return flagError("--baseline", o.file, err)
}

// namesShown is the most names in a message.
const namesShown = 5

// firstNames lists the first names.
func firstNames(names []string) string {
	if len(names) <= namesShown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:namesShown], ", ") + ", ..."
}

// rewrite writes the baseline that the run makes of the old one, if that is
// wanted. What it lists is known from then on.
func (o *baselineFlags) rewrite(a *app, old *compare.Baseline, rep *compare.Report) error {
	if !o.update {
		return nil
	}
	if rep.Interrupted {
		a.msg.Warnf("%s is not updated: the run is not complete", o.file)
		return nil
	}
	var text bytes.Buffer
	if err := old.Update(rep).Write(&text); err != nil {
		return err
	}
	if err := safefile.WriteFile(o.file, text.Bytes()); err != nil {
		return err
	}
	if rep.Baseline != nil {
		if gone := rep.Baseline.Missing; len(gone) > 0 {
			a.msg.Warnf("%s: %s dropped that this run lacks: %s", o.file, counted(len(gone), "tensor"), firstNames(gone))
		}
	}
	rep.Adopt(filepath.ToSlash(o.file))
	return nil
}

// parseCoverage reads the coverage that is wanted: a share, or a number of
// tensors.
func parseCoverage(text string) (share float64, tensors int, err error) {
	plain := strings.TrimSpace(strings.ToLower(text))
	if plain == "" {
		return 0, 0, nil
	}
	if plain == "all" {
		return 1, 0, nil
	}
	number, percent := strings.CutSuffix(plain, "%")
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case err == nil && percent && v >= 0 && v <= 100:
		return v / 100, 0, nil
	case err == nil && !percent && v >= 0 && v <= 1:
		return v, 0, nil
	case err == nil && !percent && v == float64(int32(v)) && v > 1:
		return 0, int(v), nil
	}
	return 0, 0, usagef("--require-coverage %s: want all, a share such as 0.9 or 90%%, or a number of tensors from 2", text)
}

// conclude returns the error of the run, which decides its exit status: what
// could not be read, then failures, then coverage.
func (o *baselineFlags) conclude(rep *compare.Report, failOn []compare.Status, round string, unread bool) error {
	failed := failures(rep, failOn)
	compared := 0
	for i := range rep.Rows {
		if rep.Rows[i].Compared() {
			compared++
		}
	}
	share, tensors, err := parseCoverage(o.coverage)
	if err != nil {
		return err
	}
	switch n := rep.Counts[compare.Error]; {
	case n > 0:
		return incompletef("%s could not be read, %d of %d others failed", counted(n, "tensor"), failed, len(rep.Rows)-n)
	case unread:
		return incompletef("a file about operators could not be read, %d of %s failed", failed, counted(len(rep.Rows), "tensor"))
	case failed > 0 && !o.exitZero:
		return reported(foundf("%d of %d tensors failed", failed, len(rep.Rows)))
	case rep.Baseline != nil && len(rep.Baseline.Missing) > 0:
		return coveragef("%s of the baseline missing, such as %s", counted(len(rep.Baseline.Missing), "tensor"), rep.Baseline.Missing[0])
	case rep.Coverage.Reference > 0 && rep.Coverage.Ratio() < share, share > 0 && compared == 0, rep.Coverage.Compared < tensors:
		return coveragef("compared %d of %s of the reference, want %s", rep.Coverage.Compared,
			counted(rep.Coverage.Reference, "tensor"), o.coverage)
	case compared == 0:
		return nothingCompared(rep, round)
	}
	return nil
}

// nothingCompared is the error of a run without a pair. round is what --round
// says. Where both sides have tensors their names differ.
func nothingCompared(rep *compare.Report, round string) error {
	c := &rep.Coverage
	skipped := rep.Counts[compare.Skip]
	left := fmt.Sprintf("%s in the reference, %d in the NPU run only", counted(c.Reference, "tensor"), len(c.NPUOnly))
	switch {
	case len(c.RefOnly) > 0 && len(c.NPUOnly) > 0:
		return hintf(nothingf("nothing was compared: %s", left),
			"--map-node-dict pairs names that differ, such as %s and %s", c.RefOnly[0], c.NPUOnly[0])
	case skipped > 0 && skipped == len(rep.Rows):
		return nothingf("nothing was compared: all that was found was skipped (%s; --skip-keys, --exclude-node-list)", counted(skipped, "tensor"))
	case skipped > 0:
		return nothingf("nothing was compared: %s skipped, %s", counted(skipped, "tensor"), left)
	case len(rep.Rows) == 0 && round != "" && !strings.EqualFold(round, "all"):
		return nothingf("nothing was compared: --round %s leaves no tensor", round)
	}
	return nothingf("nothing was compared: %s", left)
}

// failures counts the rows that fail: with a baseline those that are new or
// worse.
func failures(rep *compare.Report, failOn []compare.Status) int {
	n := 0
	for i := range rep.Rows {
		if slices.Contains(failOn, rep.Rows[i].Status) && !rep.Rows[i].Known {
			n++
		}
	}
	return n
}
