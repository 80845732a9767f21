package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// top is the project's folder, relative to the tests of this package.
var top = filepath.Join("..", "..")

// pages are the texts for users below the top of the project, by their paths.
func pages(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(top, file)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.ToSlash(name)] = string(text)
		}
	}
	return texts
}

// TestReadme runs every console block of the READMEs and of docs, the blocks of a page as one shell
// session in order and in one folder, and compares their output with the page.
func TestReadme(t *testing.T) {
	t.Parallel()
	texts := pages(t, "README*.md", "docs/*.md", "docs/zh/*.md")
	for name, text := range texts {
		script, commands := readmeScript(text)
		first := strings.HasPrefix(name, "README")
		if first && len(commands) < 3 {
			t.Errorf("%s has %d commands to run", name, len(commands))
		}
		if english, ok := texts["docs/"+strings.TrimPrefix(name, "docs/zh/")]; ok && !first {
			_, want := readmeScript(english)
			if len(want) != len(commands) {
				t.Errorf("%s has %d commands to run, in English it has %d", name, len(commands), len(want))
			}
		}
		if len(commands) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "readme.txtar")
			if err := os.WriteFile(path, []byte(script), 0o666); err != nil {
				t.Fatal(err)
			}
			testscript.Run(t, testscript.Params{Files: []string{path}, Setup: readmeSetup})
		})
	}
}

func readmeSetup(env *testscript.Env) error {
	data, err := filepath.Abs(filepath.Join(top, "testdata"))
	if err != nil {
		return err
	}
	env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/.config")
	env.Setenv("LC_ALL", "C")
	return os.Symlink(data, filepath.Join(env.WorkDir, "testdata"))
}

// readmeScript makes a test script of the console blocks: a line that starts
// with "$ " is a command, the lines below it are its output.
func readmeScript(readme string) (script string, commands []string) {
	var steps, files, session, want strings.Builder
	inBlock, blocks := false, 0
	for line := range strings.Lines(readme) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case inBlock && strings.HasPrefix(line, "```"):
			inBlock = false
			fmt.Fprintf(&steps, "exec sh block%d\ncmp stdout want%d\n", blocks, blocks)
			fmt.Fprintf(&files, "-- block%d --\nexec 2>&1\n%s:\n-- want%d --\n%s", blocks, session.String(), blocks, want.String())
		case !inBlock:
			if inBlock = strings.TrimSpace(line) == "```console"; inBlock {
				blocks++
				session.Reset()
				want.Reset()
			}
		case isCommand:
			commands = append(commands, command)
			session.WriteString(command)
		default:
			want.WriteString(line)
		}
	}
	return steps.String() + files.String(), commands
}

// link matches a Markdown link or picture with its target, heading a heading.
var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`^#+ +(.*)`)
	code    = regexp.MustCompile("`[^`]*`")
	marks   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks: link targets exist: files, and headings in them.
func TestLinks(t *testing.T) {
	t.Parallel()
	texts := pages(t, "*.md", "docs/*.md", "docs/zh/*.md", "deploy/*.md", "testdata/*.md")
	links := 0
	for name, text := range texts {
		for _, target := range linksOf(text) {
			if strings.Contains(target, "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(target, "#")
			path := name
			if file != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			}
			if _, err := os.Stat(filepath.Join(top, path)); err != nil {
				t.Errorf("%s links to %s: %v", name, target, err)
			} else if anchor != "" && !slices.Contains(anchorsOf(texts[path]), anchor) {
				t.Errorf("%s links to %s: no such heading, %s has %s", name, target, path, strings.Join(anchorsOf(texts[path]), " "))
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were found", links)
	}
	for name := range texts {
		if topic, ok := strings.CutPrefix(name, "docs/"); ok && !strings.HasPrefix(topic, "zh/") &&
			!slices.ContainsFunc(linksOf(texts["README.md"]), func(l string) bool { return strings.HasPrefix(l, name) }) {
			t.Errorf("README.md has no link to %s", name)
		}
		if strings.HasPrefix(name, "docs/zh/") && !slices.Contains(linksOf(texts["README.zh.md"]), name) {
			t.Errorf("README.zh.md has no link to %s", name)
		}
	}
}

// prose calls visit with the lines of a page outside code blocks.
func prose(page string, visit func(line string)) {
	inBlock := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inBlock = !inBlock
		} else if !inBlock {
			visit(line)
		}
	}
}

// linksOf returns the link targets of a page.
func linksOf(page string) (targets []string) {
	prose(page, func(line string) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
			targets = append(targets, m[1])
		}
	})
	return targets
}

// anchorsOf returns the anchors of the headings of a page, as code hosts make them.
func anchorsOf(page string) (names []string) {
	prose(page, func(line string) {
		if m := heading.FindStringSubmatch(line); m != nil {
			name := marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	})
	return names
}

// TestAnchors checks the names of headings.
func TestAnchors(t *testing.T) {
	t.Parallel()
	const page = "# One, `two` & three\n\ntext # none\n```\n# code\n```\n## 二、a_b (C)\n"
	if got, want := anchorsOf(page), []string{"one-two--three", "二a_b-c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	const links = "[a](b.md) ![p](q.png) `[c](d)` [e](f#g)\n```\n[h](i)\n```\n"
	if got, want := linksOf(links), []string{"b.md", "q.png", "f#g"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestContributing: the files, folders and tests that CONTRIBUTING.md and ARCHITECTURE.md name exist, and
// ARCHITECTURE.md names every package below internal.
func TestContributing(t *testing.T) {
	t.Parallel()
	texts := pages(t, "CONTRIBUTING.md", "ARCHITECTURE.md")
	text := texts["CONTRIBUTING.md"] + texts["ARCHITECTURE.md"]
	for _, path := range regexp.MustCompile(`(?:internal|cmd|testdata|scripts|tools)/[\w/*.]*[\w*]`).FindAllString(text, -1) {
		if files, err := filepath.Glob(filepath.Join(top, path)); err != nil || len(files) == 0 {
			t.Errorf("they name %s, which does not exist", path)
		}
	}
	for _, short := range regexp.MustCompile("`((?:plan|execute|conclude)/\\w+\\.go)`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(top, "internal", "compare", short[1])); err != nil {
			t.Error(err)
		}
	}
	var tests strings.Builder
	for _, pattern := range []string{"cmd/dumptool/*_test.go", "internal/*/*_test.go", "internal/*/*/*_test.go"} {
		for _, source := range pages(t, pattern) {
			tests.WriteString(source)
		}
	}
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(tests.String(), "func "+name[1]+"(") {
			t.Errorf("they name %s, which is no test", name[1])
		}
	}
	packages, err := os.ReadDir(filepath.Join(top, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range packages {
		if !regexp.MustCompile(`(?m)^internal/[^#\n]*\b` + dir.Name() + `\b`).MatchString(texts["ARCHITECTURE.md"]) {
			t.Errorf("ARCHITECTURE.md does not say what internal/%s is for", dir.Name())
		}
	}
}
