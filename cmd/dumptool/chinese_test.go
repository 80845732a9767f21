package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return unicode.Is(unicode.Han, c) })
}

// TestFlagsInChinese: every listed flag has its usage in Chinese, with the same name of its value.
func TestFlagsInChinese(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		visitDefined(cmd, func(f *pflag.Flag) {
			if f.Hidden || f.Name == helpFlag {
				return
			}
			chinese := usageInChinese(f)
			if !hasHan(chinese) {
				t.Errorf("%s --%s: no Chinese for %q", cmd.CommandPath(), f.Name, f.Usage)
			}
			value, _ := pflag.UnquoteUsage(f)
			translated := *f
			translated.Usage = chinese
			if got, _ := pflag.UnquoteUsage(&translated); got != value {
				t.Errorf("%s --%s: the value is %s, in Chinese %s", cmd.CommandPath(), f.Name, value, got)
			}
		})
	})
}

// TestHelpInChinese: help of every command and topic is Chinese: no prose, title or exit status is
// English.
func TestHelpInChinese(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	known := map[string]bool{}
	// Lines that may stay English: usage lines, and values.
	plain := regexp.MustCompile(`^  (dumptool|bash|zsh|fish|powershell) `)
	examples := regexp.MustCompile(`(?s)\n示例：\n.*?\n\n`)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		words := commandPath(cmd)
		known[strings.Join(words, " ")] = true
		whole := runArgs(t, append(slices.Clone(words), "--help-all", "--lang", "zh")...).out
		for line := range strings.Lines(examples.ReplaceAllString(whole, "")) {
			line = strings.TrimRight(line, "\n")
			if line != "" && !hasHan(line) && !plain.MatchString(line) && len(strings.Fields(line)) > 4 && !strings.Contains(line, "、") {
				t.Errorf("%v: %q", words, line)
			}
		}
	})
	catalogue, err := os.ReadFile("../../internal/lang/zh.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(help|topic)¦([^\t]*)\t`).FindAllStringSubmatch(string(catalogue), -1) {
		isTopic := slices.ContainsFunc(topics, func(t topic) bool { return t.name == m[2] })
		if m[1] == "help" && !known[m[2]] || m[1] == "topic" && !isTopic {
			t.Errorf("zh.txt has the help of %q, which is no command or topic", m[2])
		}
	}
	for _, topic := range topics {
		if got := runArgs(t, "help", topic.name, "--lang", "zh").out; !hasHan(got) || !strings.Contains(got, "\n选项：\n") {
			t.Errorf("%s: %s", topic.name, got)
		}
	}
}

// TestMistakesInChinese: messages are Chinese, wherever --lang stands.
func TestMistakesInChinese(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--lang zh compar":                "dumptool: \"compar\" 既不是命令，也不是已有的路径\n提示：是否想用 'dumptool compare'？\n",
		"compare --foo --lang=zh":         "dumptool: 未知选项 --foo\n提示：参见 'dumptool compare --help'\n",
		"show -lang zh":                   "dumptool: 未给出张量：需要 FILE\n提示：参见 'dumptool show --help'\n",
		"show a b --lang zh":              "dumptool: 多余的参数 \"b\"\n提示：参见 'dumptool show --help'\n",
		"compare --lang zh --max-elems x": "dumptool: --max-elems x：应为不小于 1 的数，或 0 表示全部\n提示：参见 'dumptool compare --help'\n",
		"compare --lang zh plan":          "dumptool: 'dumptool compare plan' 已取消：分片不需要计划：给每个分片完整的命令行和 --shard\n",
		"show --lang zh --window 0x1 a":   "dumptool: --window 0x1：应为 行x列，1 到 1024，例如 8x8\n提示：参见 'dumptool show --help'\n",
	} {
		if got := runArgs(t, strings.Fields(line)...); got.code != exitUsage || got.err != want {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
