package lang

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseSteps(t *testing.T) {
	for text, want := range map[string][]Step{
		"0":        {{Text: "0"}},
		"0|3-5|10": {{Text: "0"}, {Text: "3-5", Offset: 2, From: 3, To: 5, Range: true}, {Text: "10", Offset: 6, From: 10, To: 10}},
		"007":      {{Text: "007", From: 7, To: 7}},
		"3-3":      {{Text: "3-3", From: 3, To: 3, Range: true}},
		"":         {{Fault: StepEmpty}},
		"1|":       {{Text: "1", From: 1, To: 1}, {Offset: 2, Fault: StepEmpty}},
		"|1":       {{Fault: StepEmpty}, {Text: "1", Offset: 1, From: 1, To: 1}},
	} {
		if diff := cmp.Diff(want, ParseSteps(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestStepFaults(t *testing.T) {
	for text, want := range map[string]StepFault{
		"5-":                   StepOpen,
		"-5":                   StepOpen,
		"-":                    StepOpen,
		"--":                   StepDashes,
		"1--2":                 StepDashes,
		"3-5-7":                StepDashes,
		"9-5":                  StepReversed,
		" 1":                   StepBadChar,
		"1 ":                   StepBadChar,
		"1- 2":                 StepBadChar,
		"+1":                   StepBadChar,
		"1,2":                  StepBadChar,
		"١":                    StepBadChar,
		"18446744073709551615": StepOK,
		"18446744073709551616": StepTooLarge,
	} {
		if got := ParseSteps(text); len(got) != 1 || got[0].Fault != want {
			t.Errorf("%q: %+v, want fault %d", text, got, want)
		}
	}
}

func TestStepsAreBounded(t *testing.T) {
	steps := ParseSteps(strings.Repeat("1|", 1_000_000))
	if n := len(steps); n != maxPieces+1 || steps[n-1].Fault != StepRest {
		t.Errorf("%d pieces, the last %+v", n, steps[n-1].Fault)
	}
}

func TestStepsMatchASlowReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9|-]{0,12}`).Draw(t, "text")
		var want, got []string
		for _, piece := range strings.Split(text, "|") {
			want = append(want, slowStep(piece))
		}
		for _, s := range ParseSteps(text) {
			word := "bad"
			if s.Valid() {
				word = fmt.Sprintf("%d..%d", s.From, s.To)
			}
			got = append(got, word)
			if text[s.Offset:s.Offset+len(s.Text)] != s.Text {
				t.Fatalf("piece %+v is not at its offset", s)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func slowStep(piece string) string {
	ends := strings.Split(piece, "-")
	if len(ends) == 1 {
		ends = append(ends, ends[0])
	}
	if len(ends) != 2 {
		return "bad"
	}
	from, err1 := strconv.ParseUint(ends[0], 10, 64)
	to, err2 := strconv.ParseUint(ends[1], 10, 64)
	if err1 != nil || err2 != nil || from > to {
		return "bad"
	}
	return fmt.Sprintf("%d..%d", from, to)
}

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"1-3|3-5", true}, {"1-3|4", false}, {"4|1-9", true}, {"2|2", true}, {"1|5-3", false}, {"0|0-0", true},
	} {
		s := ParseSteps(c.text)
		if s[0].Overlaps(s[1]) != c.want || s[1].Overlaps(s[0]) != c.want {
			t.Errorf("%s: overlap is not %v", c.text, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for values, want := range map[string]string{
		"": "", "3": "3", "0 1": "0, 1", "0 1 2 3": "0-3", "0 1 2 7 9 10 11": "0-2, 7, 9-11",
		"0 1 2 a b": "0-2, a, b", "18446744073709551614 18446744073709551615 99999999999999999999": "18446744073709551614, 18446744073709551615, 99999999999999999999",
	} {
		if got := Ranges(strings.Fields(values)); got != want {
			t.Errorf("%s: %s, want %s", values, got, want)
		}
	}
}
