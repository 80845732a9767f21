package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// encodings are the fields of instructions as the Arm Architecture Reference Manual (DDI
// 0487) has them in its table of Advanced SIMD encodings. The field size is that of the
// elements; floating-point instructions have only its lower bit from them, and logical
// ones nothing.
var encodings = map[string]struct {
	class        string
	u, size, op  uint32
	isFloat, own bool
}{
	"ADD": {class: "same", op: 0b10000}, "SUB": {class: "same", u: 1, op: 0b10000},
	"CMGT": {class: "same", op: 0b00110}, "USHL": {class: "same", u: 1, op: 0b01000},
	"UMIN": {class: "same", u: 1, op: 0b01101}, "SMIN": {class: "same", op: 0b01101}, "SMAX": {class: "same", op: 0b01100},
	"AND": {class: "same", own: true, size: 0, op: 0b00011}, "BIC": {class: "same", own: true, size: 1, op: 0b00011},
	"ORR": {class: "same", own: true, size: 2, op: 0b00011}, "EOR": {class: "same", u: 1, own: true, size: 0, op: 0b00011},
	"BSL": {class: "same", u: 1, own: true, size: 1, op: 0b00011}, "BIT": {class: "same", u: 1, own: true, size: 2, op: 0b00011},
	"FADD": {class: "same", isFloat: true, op: 0b11010}, "FSUB": {class: "same", isFloat: true, size: 2, op: 0b11010},
	"FADDP": {class: "same", u: 1, isFloat: true, op: 0b11010}, "FMUL": {class: "same", u: 1, isFloat: true, op: 0b11011},
	"FDIV": {class: "same", u: 1, isFloat: true, op: 0b11111}, "FMAXNM": {class: "same", isFloat: true, op: 0b11000},
	"FMINNM": {class: "same", isFloat: true, size: 2, op: 0b11000}, "FMAXNMP": {class: "same", u: 1, isFloat: true, op: 0b11000},
	"FCMGE": {class: "same", u: 1, isFloat: true, op: 0b11100}, "FCMGT": {class: "same", u: 1, isFloat: true, size: 2, op: 0b11100},

	"ABS": {class: "misc", op: 0b01011}, "XTN": {class: "misc", op: 0b10010}, "SHLL": {class: "misc", u: 1, op: 0b10011},
	"CMGT #0": {class: "misc", op: 0b01000}, "CMEQ #0": {class: "misc", op: 0b01001}, "CMLT #0": {class: "misc", op: 0b01010},
	"FABS": {class: "misc", isFloat: true, size: 2, op: 0b01111}, "FSQRT": {class: "misc", u: 1, isFloat: true, size: 2, op: 0b11111},
	"FCMEQ #0.0": {class: "misc", isFloat: true, size: 2, op: 0b01101}, "FCMLT #0.0": {class: "misc", isFloat: true, size: 2, op: 0b01110},
	"FCVTL": {class: "misc", isFloat: true, op: 0b10111}, "FCVTN": {class: "misc", isFloat: true, op: 0b10110},

	"UMULL": {class: "different", u: 1, op: 0b1100}, "UMLAL": {class: "different", u: 1, op: 0b1000},
	"UZP1": {class: "permute", op: 0b001}, "UZP2": {class: "permute", op: 0b101},
	"ZIP1": {class: "permute", op: 0b011}, "ZIP2": {class: "permute", op: 0b111},
	"USHR": {class: "right", u: 1, op: 0b00000}, "SSHR": {class: "right", op: 0b00000},
	"SHL": {class: "left", op: 0b01010}, "SLI": {class: "left", u: 1, op: 0b01010}, "SXTL": {class: "left", op: 0b10100},
}

// encode returns the word of an instruction of registers 0, and of a shift of no bits
// where that is no number.
func encode(text string) (uint32, error) {
	parts := regexp.MustCompile(`^([A-Z]+[12]?) d\.(\d+)([BHSD]), n\.(\d+)([BHSD])(?:, m\.\d+[BHSD])?(?:, #(.*))?$`).FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is no instruction", text)
	}
	name, immediate := parts[1], parts[6]
	key, isUpper := name, false
	e, ok := encodings[key]
	if !ok && strings.HasSuffix(name, "2") { // the upper half of the source
		key, isUpper = strings.TrimSuffix(name, "2"), true
		e, ok = encodings[key]
	}
	if immediate == "0" || immediate == "0.0" {
		e, ok = encodings[key+" #"+immediate]
	}
	if !ok {
		return 0, fmt.Errorf("%s is unknown", name)
	}
	log := map[string]uint32{"B": 0, "H": 1, "S": 2, "D": 3}
	to, from := log[parts[3]], log[parts[5]]
	narrow, wide := min(to, from), max(to, from)
	elements, err := strconv.Atoi(parts[2])
	if err != nil {
		return 0, err
	}
	q := uint32(0)
	if elements<<to == 16 && to <= from || isUpper {
		q = 1 // all of both registers, or the upper half of one
	}
	size := narrow
	switch {
	case e.own:
		size = e.size
	case e.isFloat: // half and single precision have 0 where they are wide
		size = e.size
		if wide == 3 {
			size |= 1
		}
	}
	head := q<<30 | e.u<<29
	switch e.class {
	case "same":
		return head | 0b01110<<24 | size<<22 | 1<<21 | e.op<<11 | 1<<10, nil
	case "misc":
		return head | 0b01110<<24 | size<<22 | 0b10000<<17 | e.op<<12 | 0b10<<10, nil
	case "different":
		return head | 0b01110<<24 | size<<22 | 1<<21 | e.op<<12, nil
	case "permute":
		return head | 0b01110<<24 | size<<22 | e.op<<12 | 0b10<<10, nil
	}
	bits := uint32(8) << narrow
	shift := uint32(0)
	if immediate == "s" {
		bits = 0 // part of the macro
	} else if immediate != "" {
		n, err := strconv.Atoi(immediate)
		if err != nil {
			return 0, err
		}
		shift = uint32(n)
	}
	if e.class == "right" && bits != 0 {
		bits, shift = 2*bits, -shift
	}
	return head | 0b011110<<23 | (bits+shift)<<16 | e.op<<11 | 1<<10, nil
}

// headers are the files that have instructions as words.
var headers = map[string]int{"neon_arm64.h": 50, "../../../tensor/neon_arm64.h": 10}

// TestWords encodes the instructions that are there as words from their names, and wants
// these words.
func TestWords(t *testing.T) {
	for name, atLeast := range headers {
		t.Run(name, func(t *testing.T) { checkWords(t, name, atLeast) })
	}
}

func checkWords(t *testing.T, name string, atLeast int) {
	t.Helper()
	text, err := os.ReadFile(name)
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
	if all := strings.Count(string(text), "WORD"); len(words) != all || all < atLeast {
		t.Errorf("%d of %d words are understood", len(words), all)
	}
}

// TestNothingFused: no kernel has words of its own, and none multiplies and adds
// floating-point numbers in one step, which would round once and not twice.
func TestNothingFused(t *testing.T) {
	files, err := filepath.Glob("*_arm64.[sh]")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	others, err := filepath.Glob("../../../tensor/*_arm64.[sh]")
	if err != nil || len(others) != 2 {
		t.Fatal(others, err)
	}
	files = append(files, others...)
	fused := regexp.MustCompile(`\bV?FN?M(ADD|SUB|L[AS])|\bWORD\b`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if word := fused.FindString(line); word != "" && (word != "WORD" || headers[name] == 0) {
				t.Errorf("%s:%d: %s", name, i+1, line)
			}
		}
	}
}
