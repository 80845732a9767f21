package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// encodings has the instruction fields from the table of Advanced SIMD encodings in the Arm
// Architecture Reference Manual (DDI 0487). The field size is the element size; floating-point
// instructions use only its lower bit, logical instructions none.
var encodings = map[string]struct {
	class        string
	u, size, op  uint32
	isFloat, own bool
}{
	"ADD": {class: "same", op: 0b10000}, "SUB": {class: "same", u: 1, op: 0b10000},
	"UMIN": {class: "same", u: 1, op: 0b01101},
	"AND":  {class: "same", own: true, size: 0, op: 0b00011}, "BIC": {class: "same", own: true, size: 1, op: 0b00011},
	"ORR": {class: "same", own: true, size: 2, op: 0b00011}, "EOR": {class: "same", u: 1, own: true, size: 0, op: 0b00011},
	"FADD": {class: "same", isFloat: true, op: 0b11010}, "FSUB": {class: "same", isFloat: true, size: 2, op: 0b11010},
	"FADDP": {class: "same", u: 1, isFloat: true, op: 0b11010}, "FMUL": {class: "same", u: 1, isFloat: true, op: 0b11011},
	"FDIV": {class: "same", u: 1, isFloat: true, op: 0b11111}, "FMAXNM": {class: "same", isFloat: true, op: 0b11000},
	"FMAXNMP": {class: "same", u: 1, isFloat: true, op: 0b11000}, "FCMGT": {class: "same", u: 1, isFloat: true, size: 2, op: 0b11100},

	"CMGT #0": {class: "misc", op: 0b01000}, "CMEQ #0": {class: "misc", op: 0b01001}, "CMLT #0": {class: "misc", op: 0b01010},
	"FABS": {class: "misc", isFloat: true, size: 2, op: 0b01111}, "FCMEQ #0.0": {class: "misc", isFloat: true, size: 2, op: 0b01101}, "FCMLT #0.0": {class: "misc", isFloat: true, size: 2, op: 0b01110},

	"ZIP1": {class: "permute", op: 0b011}, "ZIP2": {class: "permute", op: 0b111},
	"USHR": {class: "right", u: 1, op: 0b00000},
	"SHL":  {class: "left", op: 0b01010}, "SLI": {class: "left", u: 1, op: 0b01010},
}

// encode returns the word of an instruction on full registers 0, or of a shift by 0 bits.
func encode(text string) (uint32, error) {
	parts := regexp.MustCompile(`^([A-Z]+[12]?) d\.(?:16B|8H|4S|2D), n\.(?:16|8|4|2)([BHSD])(?:, m\.(?:16B|8H|4S|2D))?(?:, #(.*))?$`).FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is no instruction", text)
	}
	name, immediate := parts[1], parts[3]
	if immediate == "0" || immediate == "0.0" {
		name += " #" + immediate
	}
	e, ok := encodings[name]
	if !ok {
		return 0, fmt.Errorf("%s is unknown", name)
	}
	log := map[string]uint32{"B": 0, "H": 1, "S": 2, "D": 3}[parts[2]]
	size := log
	switch {
	case e.own:
		size = e.size
	case e.isFloat: // single precision has 0
		size = e.size | log&1
	}
	head := 1<<30 | e.u<<29
	switch e.class {
	case "same":
		return head | 0b01110<<24 | size<<22 | 1<<21 | e.op<<11 | 1<<10, nil
	case "misc":
		return head | 0b01110<<24 | size<<22 | 0b10000<<17 | e.op<<12 | 0b10<<10, nil
	case "permute":
		return head | 0b01110<<24 | size<<22 | e.op<<12 | 0b10<<10, nil
	}
	return head | 0b011110<<23 | e.op<<11 | 1<<10, nil // shifts: the macro adds the rest
}

// header is the file with instructions as words.
const header = "neon_arm64.h"

// TestWords encodes the instructions that are written as words from their names, and compares the
// words.
func TestWords(t *testing.T) {
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	operands := map[string]string{
		"m, n, d": "(m)<<16 | (n)<<5 | (d)", "n, d": "(n)<<5 | (d)",
		"s, n, d right": "(128-(s))<<16 | (n)<<5 | (d)", "s, n, d left": "(64+(s))<<16 | (n)<<5 | (d)",
	}
	words := regexp.MustCompile(`(?m)^// (.*)\n#define (\w+)\((.*?)\) WORD \$\(0x([0-9a-f]{8}) \| (.*)\)$`).FindAllStringSubmatch(string(text), -1)
	for _, w := range words {
		want, err := encode(w[1])
		if err != nil {
			t.Errorf("%s: %v", w[2], err)
			continue
		}
		args := w[3]
		if strings.HasSuffix(w[1], "#s") {
			args += " " + encodings[strings.Fields(w[1])[0]].class
		}
		if w[4] != fmt.Sprintf("%08x", want) || w[5] != operands[args] {
			t.Errorf("%s is 0x%s | %s, want 0x%08x | %s for %s", w[2], w[4], w[5], want, operands[args], w[1])
		}
	}
	if all := strings.Count(string(text), "WORD"); len(words) != all || all < 25 {
		t.Errorf("%d of %d words are understood", len(words), all)
	}
}

// TestNothingFused: only the header has instructions as words, and no kernel uses a fused
// multiply-add, which rounds once instead of twice.
func TestNothingFused(t *testing.T) {
	files, err := filepath.Glob("*_arm64.[sh]")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	fused := regexp.MustCompile(`\bV?FN?M(ADD|SUB|L[AS])|\bWORD\b`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if word := fused.FindString(line); word != "" && (word != "WORD" || name != header) {
				t.Errorf("%s:%d: %s", name, i+1, line)
			}
		}
	}
}
