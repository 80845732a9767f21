package lang

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCompareNaturalSlowly compares with a simple implementation that splits names into numbers and bytes.
func TestCompareNaturalSlowly(t *testing.T) {
	words := regexp.MustCompile(`[0-9]+|[^0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a_01]{0,8}`)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		want := slices.CompareFunc(words.FindAllString(a, -1), words.FindAllString(b, -1), func(x, y string) int {
			m, err := strconv.Atoi(x)
			n, err2 := strconv.Atoi(y)
			if err == nil && err2 == nil {
				return m - n
			}
			return strings.Compare(x[:1], y[:1])
		})
		want = cmp.Or(want, strings.Compare(a, b))
		if got := CompareNatural(a, b); (got < 0) != (want < 0) || (got > 0) != (want > 0) {
			t.Errorf("%q and %q compare as %d, want %d", a, b, got, want)
		}
	})
}

func TestCompareNatural(t *testing.T) {
	sorted := []string{"", "1", "2", "10", "a", "op", "op2", "op02", "op2a", "op10", "op10_1", "op10_2", "op10_10", "op_1", "opa", "op" + "é"}
	// Equal numbers: the shorter rest, then the bytes decide.
	sorted[6], sorted[7] = "op02", "op2"
	for i, a := range sorted {
		for j, b := range sorted {
			got := CompareNatural(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q compare as %d", a, b, got)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"jobs", "jobs", 0},
		{"jobs", "jbos", 1}, {"otu", "out", 1}, {"ab", "ba", 1}, {"abc", "ca", 3}, {"ca", "abc", 3}, {"abc", "xbc", 1}, {"kitten", "sitting", 3}, {"out", "output", 3},
	}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	word := rapid.StringMatching(`[ab]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		got := Distance(a, b)
		if got != Distance(b, a) {
			t.Errorf("the distance of %q and %q depends on the direction", a, b)
		}
		if longer := max(len(a), len(b)); got > longer || got < longer-min(len(a), len(b)) || (got == 0) != (a == b) {
			t.Errorf("Distance(%q, %q) = %d is impossible", a, b, got)
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files", 1000: "1000 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	things := Text{EN: "2 tensors", ZH: "2 个张量"}
	for name, tt := range map[string]struct {
		s    Sentence
		want Text
	}{
		"zero":      {Sentence{}, Text{}},
		"plain":     {Plain("50 % <b>"), Text{EN: "50 % <b>", ZH: "50 % <b>"}},
		"empty":     {Plain(""), Text{}},
		"arguments": {both("%d of %s, 5 %%: %v", "%d/%s，5 %%：%v", 1, things, errors.New("gone")), Text{EN: "1 of 2 tensors, 5 %: gone", ZH: "1/2 个张量，5 %：gone"}},
		"order":     {both("%[1]s in %[2]d", "%[2]d 中的 %[1]s", "x", 7), Text{EN: "x in 7", ZH: "7 中的 x"}},
		"nested":    {both("a%s", "甲%s", both(" (%s)", "（%s）", things)), Text{EN: "a (2 tensors)", ZH: "甲（2 个张量）"}},
		"nothing":   {both("a%s", "甲%s", Sentence{}), Text{EN: "a", ZH: "甲"}},
		"text of":   {both("%s!", "%s！", teller{}), Text{EN: "a!", ZH: "甲！"}},
		"error":     {both("a: %v", "甲：%v", fmt.Errorf("file: %w", tellerError{})), Text{EN: "a: file: a", ZH: "甲：file: 甲"}},
		"joined":    {Join([]Sentence{both("a", "甲"), Plain("b"), both("c", "丙")}, Text{EN: "; ", ZH: "；"}), Text{EN: "a; b; c", ZH: "甲；b；丙"}},
		"none":      {Join(nil, Text{EN: "; ", ZH: "；"}), Text{}},
	} {
		if got := tt.s.Text(); got != tt.want || tt.s.String() != tt.want.EN || tt.s.IsZero() != (tt.want == Text{}) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if !both("%d b", "%d 乙", 1).Equal(Plain("1 b")) || Plain("a").Equal(Sentence{}) {
		t.Error("sentences are not compared by their English")
	}
}

// both returns a sentence of a template in each language.
func both(en, zh string, args ...any) Sentence {
	return Sentence{&sentence{Text{EN: en, ZH: zh}, args}}
}

// teller is an argument with a text.
type teller struct{}

func (teller) Text() Text { return Text{EN: "a", ZH: "甲"} }

// tellerError is an error with a text.
type tellerError struct{ teller }

func (tellerError) Error() string { return "a" }

func TestSentenceJSON(t *testing.T) {
	type list struct {
		Text     string   `json:"text"`
		Sentence Sentence `json:"sentence"`
	}
	for _, text := range []string{"", "a < b & \"c\"\u2028", "\xff"} {
		got, err := json.Marshal(list{text, both("%s", "无", text)})
		var same map[string]json.RawMessage
		if err := errors.Join(err, json.Unmarshal(got, &same)); err != nil || string(same["text"]) != string(same["sentence"]) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
		var back list
		if err := json.Unmarshal(got, &back); err != nil || back.Sentence.String() != back.Text || back.Sentence.Text().ZH != back.Text {
			t.Errorf("%q comes back as %q, %v", text, back.Sentence, err)
		}
	}
}

func TestChineseLocale(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{
		"":                                 false,
		"LANG=zh_CN.UTF-8":                 true,
		"LANG=zh":                          true,
		"LANG=ZH_TW":                       true,
		"LANG=en_US.UTF-8":                 false,
		"LANG=zh_CN.UTF-8 LC_ALL=C":        false,
		"LANG=zh_CN.UTF-8 LC_ALL=":         true,
		"LANG=C LC_ALL=zh_CN":              true,
		"LANG=C LC_MESSAGES=zh_CN":         true,
		"LC_MESSAGES=en LANG=zh_CN":        false,
		"LC_ALL=en LC_MESSAGES=zh LANG=zh": false,
		"LANGUAGE=zh LC_CTYPE=zh_CN.UTF-8": false,
	} {
		getenv := func(name string) string {
			for _, set := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(set, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := ChineseLocale(getenv); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}
