"""`python app.py`: the web page of Formgrad on http://127.0.0.1:7860. Options: `python app.py --help`."""

import sys

from ui.serve import main

if __name__ == "__main__":
    sys.exit(main())
