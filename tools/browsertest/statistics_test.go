package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// statistics are those of a tensor in dump.json.
type statistics struct{ Max, Min, Mean, Norm float64 }

// outputOf reads the statistics of the first output of a call.
func outputOf(t *testing.T, file, call string) statistics {
	t.Helper()
	var dump struct {
		Data map[string]struct{ Output []statistics }
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &dump)
	}
	if err != nil || len(dump.Data[call].Output) == 0 {
		t.Fatalf("%s: no output of %s: %v", file, call, err)
	}
	return dump.Data[call].Output[0]
}

// TestStatistics opens pages of runs of which only statistics are known: a fault, a healthy
// run, and one that did not start alike.
func TestStatistics(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("..", "..", "testdata", "golden", "statistics"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, word string
		check      func(*testing.T, *tab)
	}{
		{"s14", "FAIL", func(t *testing.T, b *tab) {
			t.Helper()
			const call = "Functional.relu.0.forward" // which expect.json names
			cells := eval[[]string](b, `[...document.querySelectorAll("#panel .t tbody td:not(.l)")].map(c => c.textContent)`)
			ref, npu := outputOf(t, filepath.Join(golden, "s14", "cpu", "dump.json"), call), outputOf(t, filepath.Join(golden, "s14", "npu", "dump.json"), call)
			var want []string
			for _, x := range []float64{ref.Max, npu.Max, ref.Min, npu.Min, ref.Mean, npu.Mean, ref.Norm, npu.Norm} {
				want = append(want, strconv.FormatFloat(x, 'g', 7, 64))
			}
			if !slices.Equal(cells, want) {
				t.Errorf("the panel has %q, want %q", cells, want)
			}
			// The mark of the origin stands where the norm is half of the reference's.
			half := eval[bool](b, `(() => {
				const metric = document.getElementById("metric");
				metric.value = "ratio";
				metric.dispatchEvent(new Event("change"));
				const diamond = document.querySelector("#strip path.diamond").getBBox(), text = [...document.querySelectorAll("#strip text.tick")].find(x => x.textContent === "÷2").getBBox();
				return Math.abs(diamond.y + diamond.height / 2 - text.y - text.height / 2) < 6;
			})()`)
			if !half {
				t.Error("the origin does not stand at half of the norm")
			}
			if next := eval[string](b, `document.querySelector(".verdict dl code").textContent`); !json.Valid([]byte(next)) || !strings.Contains(next, call) {
				t.Errorf("what to dump next is %s", next)
			}
		}},
		{"s0", "PASS", func(t *testing.T, b *tab) {
			t.Helper()
			if marks := eval[int](b, `document.querySelectorAll("#strip .diamond, #strip .needle, #strip .pale").length`); marks > 0 {
				t.Errorf("%d kinds of bad marks in a healthy run", marks)
			}
		}},
		{"s35", "FAIL", func(t *testing.T, b *tab) {
			t.Helper()
			if lines := eval[int](b, `document.querySelectorAll(".verdict dl dd")[0].children.length`); lines != 5+1 {
				t.Errorf("%d lines of what differs from the start, want 5 and how many more", lines)
			}
		}},
	} {
		dir := t.TempDir()
		run(t, golden, "compare", "--cpu", filepath.Join(test.name, "cpu"), "--npu", filepath.Join(test.name, "npu"), "-out", dir, "--format", "html,json", "-q")
		file, _ := readDocument(t, dir)
		for _, width := range []int{1280, 390} {
			for _, lang := range []string{"en", "zh"} {
				name := fmt.Sprintf("%s-%d-%s", test.name, width, lang)
				t.Run(name, func(t *testing.T) {
					b := open(t, file, view{width: width, height: 900, language: map[string]string{"en": "en-US", "zh": "zh-CN"}[lang]})
					if word := eval[string](b, `document.querySelector(".stamp").lastChild.textContent`); word != test.word {
						t.Errorf("the page says %s, want %s", word, test.word)
					}
					if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
						t.Errorf("the page is %d pixels wide, of %d", wide, width)
					}
					test.check(t, b)
					b.none("cut", "cut()")
					b.none("faint", "faint()")
					if width < 640 {
						b.none("small", "small()")
					}
					b.onlyWords(lang)
					b.quiet()
					b.shot("statistics-" + name)
				})
			}
		}
	}
}
