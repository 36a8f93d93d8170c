"""Answer evaluation: are answers grounded in their notes, and are they useful?"""
